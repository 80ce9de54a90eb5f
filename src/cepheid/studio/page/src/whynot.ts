// Why not: what kept a statement from giving a row, at a time, in a span, or with an event of the timeline.
import { button, Child, counted, el, fill } from "./dom";
import { problemList } from "./findings";
import { Told } from "./lanes";
import { Studio } from "./studio";
import { NoAnswer, Place, Question } from "./talk";
import { when } from "./zone";

interface Hindrance {
  kind: string;
  text: string;
  fact: string;
  place: Place | null;
  events: Told[];
  followed: Absence[];
}

type Match = [string, Told][];

interface Absence {
  statement: string;
  asked: string;
  rows: Told[];
  obstacles: { hindrances: Hindrance[]; time: string; match: Match; matches: number }[];
  reached: { match: Match; awaits: string | null; ended: string | null }[];
  limits: string[];
  more: number;
}

// An event that was chosen on the timeline or in the table.
export interface Chosen {
  kind: "in" | "out";
  type: string;
  index: number;
  time: string;
}

// What words stand before the text of a part, where its kind needs any.
const WORDS: Record<string, string> = {
  missing: "an event",
  timer: "",
  not: "",
  once: "one at a time:",
  taken: "each event once:",
  noise: "no other events:",
  same: "the same value:",
};

const TIMES = { ever: "at any time", event: "with the chosen event", at: "at", between: "from" };
type When = keyof typeof TIMES;

export class WhyNot {
  readonly element: HTMLFormElement;
  private statement = el("select", { id: "why-not-statement" });
  private whenAsked = el("select", { id: "why-not-when", with: { "aria-label": "When" }, on: { change: () => this.arrange() } });
  private first = timeField("Time");
  private last = timeField("Until");
  private event = el("span", { class: "muted" });
  private ask = el("button", { class: "main" }, "Why not?");
  private stop = button("Stop", () => this.question?.cancel(), { with: { hidden: true } });
  private chosen: Chosen | null = null;
  private run = 0;
  private question: Question<Absence> | null = null;

  constructor(private studio: Studio, private answer: HTMLElement, private select: (event: Told) => void) {
    fill(this.whenAsked, ...Object.entries(TIMES).map(([value, text]) => el("option", { with: { value } }, text)));
    this.element = el(
      "form",
      { class: "bar why-not", with: { hidden: true, "aria-label": "Why not" }, on: { submit: (event) => void this.submit(event) } },
      el("label", { with: { for: "why-not-statement" } }, "Why no row of"),
      this.statement,
      this.whenAsked,
      this.event,
      this.first,
      this.last,
      this.ask,
      this.stop,
    );
    this.arrange();
  }

  // The run that questions are about.
  begin(run: number, statements: string[]): void {
    const last = this.statement.value;
    this.run = run;
    this.chosen = null;
    fill(this.statement, ...statements.map((name) => el("option", {}, name)));
    if (statements.includes(last)) this.statement.value = last;
    if (this.whenAsked.value === "event") this.whenAsked.value = "ever";
    this.arrange();
  }

  open(): void {
    this.element.hidden = !this.element.hidden;
    if (!this.element.hidden) this.statement.focus();
  }

  // A click on the timeline says which event is meant, or when.
  choose(chosen: Chosen): void {
    if (this.element.hidden) return;
    this.chosen = chosen;
    const asked = this.whenAsked.value as When;
    if (asked === "between") {
      const isLater = this.first.value !== "" && chosen.time >= this.first.value;
      (isLater ? this.last : this.first).value = chosen.time;
    } else {
      this.whenAsked.value = chosen.kind === "in" && asked !== "at" ? "event" : "at";
      this.first.value = chosen.time;
    }
    this.arrange();
  }

  private arrange(): void {
    const asked = this.whenAsked.value as When;
    this.first.hidden = asked !== "at" && asked !== "between";
    this.last.hidden = asked !== "between";
    this.first.required = !this.first.hidden;
    this.last.required = !this.last.hidden;
    const { chosen } = this;
    const isEvent = chosen?.kind === "in";
    this.event.hidden = asked !== "event";
    fill(this.event, ...(isEvent ? [`${chosen.type} `, when(chosen.time)] : ["choose one on the timeline"]));
    this.ask.disabled = asked === "event" && !isEvent;
  }

  private asked(): object {
    const { chosen } = this;
    switch (this.whenAsked.value as When) {
      case "ever":
        return {};
      case "at":
        return { at: this.first.value };
      case "between":
        return { from: this.first.value, to: this.last.value };
      case "event":
        return { type: chosen?.type, index: chosen?.index };
    }
  }

  private async submit(event: Event): Promise<void> {
    event.preventDefault();
    if (this.question) return;
    const { run } = this;
    this.stop.hidden = false;
    const looking = "Looking for what stood in the way …";
    const status = el("p", { class: "empty", with: { role: "status" } }, looking);
    fill(this.answer, status);
    try {
      const asked = { run, statement: this.statement.value, ...this.asked() };
      this.question = this.studio.talk.ask<Absence>("why-not", asked, ({ done }) => fill(status, `${looking} ${counted(done, "event")} read`));
      const found = await this.question;
      if (run !== this.run) return;
      fill(this.answer, this.tree(found, true));
      this.answer.scrollIntoView({ block: "start" });
    } catch (problem) {
      const { problems, isStopped } = problem as NoAnswer;
      fill(this.answer, isStopped ? el("p", { class: "empty" }, "Stopped. Run the program again to ask further.") : problemList(problems));
    } finally {
      this.question = null;
      this.stop.hidden = true;
    }
  }

  private tree(absence: Absence, isTop: boolean): HTMLElement {
    const { statement, asked, rows, obstacles, reached, limits, more } = absence;
    const said = rows.length ? `${statement} gave ${counted(rows.length, "row")} ${asked}${isTop ? "" : ", of which none fits"}` : `${statement} gave no row ${asked}`;
    return el(
      "div",
      { class: "absence" },
      isTop ? el("h3", {}, said) : el("p", { class: "followed" }, said),
      el("ul", { class: "tree" }, ...rows.slice(0, 20).map((row) => el("li", {}, this.line("", row)))),
      !rows.length && el("ol", { class: "obstacles" }, ...obstacles.map((each) => this.obstacle(each))),
      more > 0 && el("p", { class: "muted" }, `and ${counted(more, "more way", "more ways")}`),
      isTop && reached.length > 0 && el("h3", {}, "How far matches came"),
      isTop && el("ul", { class: "reached" }, ...reached.map((each) => this.reached(each))),
      ...(isTop ? limits : []).map((limit) => el("p", { class: "muted" }, limit)),
    );
  }

  private obstacle({ hindrances, time, match, matches }: Absence["obstacles"][number]): HTMLElement {
    const of = matches > 1 ? `, one of ${matches.toLocaleString("en")}` : "";
    return el(
      "li",
      {},
      ...hindrances.map((each, number) => this.hindrance(each, number === 0 ? "but for" : "and")),
      match.length > 0 && el("p", { class: "muted" }, "this would have matched at ", when(time), of),
      ...match.map(([tag, event]) => this.line(tag, event)),
      ...hindrances.flatMap((each) => each.followed).map((each) => this.tree(each, false)),
    );
  }

  private hindrance({ kind, text, fact, place, events }: Hindrance, joined: string): HTMLElement {
    const word = WORDS[kind] ?? kind;
    const concerned = events.length && kind !== "condition" ? events.map((event) => this.eventOf(event)) : [];
    return el(
      "div",
      { class: "hindrance" },
      el("span", { class: "muted" }, `${joined} ${word} `),
      el("code", {}, text),
      `: ${fact} `,
      place && this.place(place),
      ...concerned,
    );
  }

  private place(place: Place): HTMLElement {
    const file = place.file !== null && place.file !== this.studio.open?.name ? `${place.file.split("/").at(-1)}, ` : "";
    const go = () => this.studio.goTo(place.line, place.column, place.file);
    return button(`${file}line ${place.line}`, go, { class: "place", title: "Show it in the text" });
  }

  private reached({ match, awaits, ended }: Absence["reached"][number]): HTMLElement {
    const end: Child[] = ended ? ["ended at ", when(ended)] : [awaits ? `awaits ${awaits}` : ""];
    return el("li", {}, ...match.map(([tag, event]) => this.line(tag, event)), el("p", { class: "muted" }, ...end));
  }

  private line(tag: string, event: Told): HTMLElement {
    const values: Child[] = event.values.map(([name, value]) => el("span", { class: "value" }, el("span", { class: "muted" }, `${name} `), value));
    const isNamed = tag !== "" && tag !== event.type && !tag.startsWith(`${event.type} `);
    return el("div", { class: "line" }, isNamed && el("span", {}, `${tag} =`), this.eventOf(event), ...values);
  }

  // An event that leads to its place on the timeline, where it has one.
  private eventOf(event: Told): HTMLElement {
    if (event.index === null) return el("span", { class: "event" }, `${event.type} `, when(event.time));
    const made = button(`${event.type} `, () => this.select(event), { class: "place event", title: "Show it on the timeline" });
    made.append(when(event.time));
    return made;
  }
}

function timeField(name: string): HTMLInputElement {
  return el("input", { with: { "aria-label": name, placeholder: "2026-01-31T12:00:00Z", size: 22, spellcheck: "false", autocomplete: "off" } });
}
