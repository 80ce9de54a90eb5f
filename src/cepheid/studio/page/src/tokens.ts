// Where partial matches stand, as tokens on automata or in the folded net, beside the pattern's own text.
import { counted, el, fill, svg } from "./dom";
import { problemList } from "./findings";
import { Studio } from "./studio";
import { NoAnswer } from "./talk";

// A tag, its attributes, and what is in it.
type Picture = [tag: string, attributes: Record<string, string>, inside: (Picture | string)[]];

interface Drawn {
  picture: Picture;
  at: number | null; // the event after which it is so, where it is not so now
  standing: { where: string; count: number; tokens: string[] }[];
}

const TAGS = ["svg", "g", "rect", "circle", "path", "text", "tspan", "title", "defs", "marker"] as const;

export class Tokens {
  readonly element: HTMLElement;
  private select: HTMLSelectElement;
  private shown = el("div", { class: "picture" });
  private asked = "";
  private place = { session: 0, events: 0, step: 0 };

  constructor(private studio: Studio) {
    this.select = el("select", { id: "tokens-on", on: { change: () => void this.draw() } });
    this.element = el("div", { class: "tokens" }, el("div", { class: "bar" }, el("label", { with: { for: "tokens-on" } }, "Also show partial matches"), this.select), this.shown);
    this.offer(false);
  }

  offer(hasAutomata: boolean): void {
    const option = (value: string, text: string) => el("option", { with: { value } }, text);
    const last = this.select.value;
    fill(this.select, option("", "nowhere else"), hasAutomata && option("automaton", "on the automata"), option("net", "in the folded net"));
    this.select.value = last === "automaton" && !hasAutomata ? "" : last;
  }

  show(session: number, events: number, step: number): void {
    this.place = { session, events, step };
    void this.draw();
  }

  private async draw(): Promise<void> {
    const on = this.select.value;
    const { session, events, step } = this.place;
    const asked = JSON.stringify([on, session, events, step]);
    if (asked === this.asked && on) return;
    this.asked = asked;
    if (!on) {
      fill(this.shown);
      return;
    }
    if (!this.shown.firstChild) fill(this.shown, el("p", { class: "empty" }, "Drawing …"));
    try {
      const found = await this.studio.talk.ask<Drawn>("debug-picture", { session, on });
      if (this.asked === asked) this.fill(found, step);
    } catch (problem) {
      if (this.asked === asked) fill(this.shown, problemList((problem as NoAnswer).problems));
    }
  }

  private fill({ picture, at, standing }: Drawn, step: number): void {
    const drawn = elementOf(picture);
    if (drawn instanceof Element) {
      drawn.setAttribute("role", "img");
      drawn.setAttribute("aria-label", standing.map(({ where, count }) => `${where}: ${counted(count, "token")}`).join("; ") || "no tokens");
    }
    const ground = el("div", { class: "picture-ground", with: { tabindex: 0, role: "group", "aria-label": "Picture" } }, drawn);
    const before = this.shown.querySelector(".picture-ground");
    const [left, top] = [before?.scrollLeft ?? 0, before?.scrollTop ?? 0];
    fill(
      this.shown,
      at !== null && step > 0 && el("p", { class: "hint" }, `As it was when ${counted(at, "event")} were done: a net stands still between events only.`),
      ground,
      el("ul", { class: "standing" }, ...standing.map(({ where, count, tokens }) => el("li", {}, el("strong", {}, where), ` ${counted(count, "token")}`, ...tokens.map((token) => el("div", { class: "muted" }, token)), tokens.length > 0 && count > tokens.length && el("div", { class: "muted" }, `and ${(count - tokens.length).toLocaleString("en")} more`)))),
    );
    ground.scrollTo(left, top);
    bringTokens(ground);
  }
}

// What is larger than its place shows a part with tokens, as far as it is not the same part as before.
function bringTokens(ground: HTMLElement): void {
  const place = ground.getBoundingClientRect();
  const found = [...ground.querySelectorAll(".badge")].map((badge) => badge.getBoundingClientRect());
  const isSeen = (rect: DOMRect) => rect.left >= place.left && rect.right <= place.right && rect.top >= place.top && rect.bottom <= place.bottom;
  const [first] = found;
  if (!first || found.some(isSeen)) return;
  ground.scrollBy(first.left - place.left - place.width / 2, first.top - place.top - place.height / 2);
}

// Only these tags; what an attribute or a text says stays what it is.
function elementOf([tag, attributes, inside]: Picture): Node {
  const known = TAGS.find((each) => each === tag);
  return known ? svg(known, attributes, ...inside.map((each) => (typeof each === "string" ? each : elementOf(each)))) : document.createTextNode("");
}
