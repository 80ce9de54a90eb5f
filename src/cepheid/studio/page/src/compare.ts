// Rows of two versions of a program side by side: the present one, and the saved or an earlier one.
import { button, counted, el, fill } from "./dom";
import { problemList } from "./findings";
import { Studio } from "./studio";
import { NoAnswer, Question } from "./talk";
import { when } from "./zone";

type Where = "here" | "there" | "both";
type Texts = { file: string; text: string }[];

interface Version {
  title: string;
  texts: Texts;
  without: string[];
}

interface Compared {
  counts: ({ type: string } & Record<Where, number>)[];
  rows: { where: Where; type: string; time: string; values: [string, string | null][] }[];
  of: number;
}

const WORDS: Record<Where, string> = { there: "only then", here: "only now", both: "in both" };
const SAVED = "saved";
const KEPT = 5; // earlier versions

export class Compare {
  readonly element: HTMLElement;
  private select = el("select", { id: "compare-with" });
  private ask = el("button", { class: "main" }, "Compare");
  private stop = button("Stop", () => this.question?.cancel(), { with: { hidden: true } });
  private answer = el("div", { class: "compared" });
  private versions: Version[] = []; // that ran, the latest first
  private run = 0;
  private question: Question<Compared> | null = null;

  constructor(private studio: Studio, private events: () => object) {
    const form = el(
      "form",
      { class: "bar", with: { "aria-label": "Compare" }, on: { submit: (event) => void this.submit(event) } },
      el("label", { with: { for: "compare-with" } }, "Rows beside those of"),
      this.select,
      this.ask,
      this.stop,
      button("Close", () => (this.element.hidden = true)),
    );
    this.element = el("section", { class: "compare", with: { hidden: true, "aria-label": "Two versions" } }, form, this.answer);
    studio.on("opened", () => {
      this.versions = [];
      this.element.hidden = true;
    });
    studio.on("saved", () => this.offer());
  }

  // A run, with which others are compared from now on.
  begin(run: number): void {
    this.run = run;
    const { studio } = this;
    const ran: Version = { title: `the version that ran at ${new Date().toLocaleTimeString()}`, texts: studio.texts(), without: [...studio.without] };
    this.versions = [ran, ...this.versions.filter((each) => !isSame(each, ran))].slice(0, KEPT + 1);
    fill(this.answer);
    this.offer();
  }

  open(): void {
    this.element.hidden = !this.element.hidden;
    this.offer();
    if (!this.element.hidden) this.select.focus();
  }

  private others(): [string, Version][] {
    const [now, ...earlier] = this.versions;
    const { open } = this.studio;
    if (!now || !open) return [];
    const texts = now.texts.map((each) => (each.file === open.name ? { ...each, text: open.saved } : each));
    const saved: Version = { title: "the saved text", texts, without: [] };
    const isOther = open.version !== null && !isSame(saved, now);
    return [...(isOther ? [[SAVED, saved] as [string, Version]] : []), ...earlier.map((each, place) => [String(place), each] as [string, Version])];
  }

  private offer(): void {
    const found = this.others();
    const none = el("option", { with: { value: "" } }, "no other version yet: change the program and run it");
    fill(this.select, ...(found.length ? found.map(([value, { title }]) => el("option", { with: { value } }, title)) : [none]));
    this.ask.disabled = !found.length;
  }

  private async submit(event: Event): Promise<void> {
    event.preventDefault();
    const other = this.others().find(([value]) => value === this.select.value)?.[1];
    if (!other || this.question) return;
    this.stop.hidden = false;
    fill(this.answer, el("p", { class: "empty", with: { role: "status" } }, "Running the other version …"));
    const { run } = this;
    try {
      const asked = { ...this.events(), run, texts: other.texts, without: other.without };
      this.question = this.studio.talk.ask<Compared>("compare", asked);
      const found = await this.question;
      if (run === this.run) this.show(found, other.title);
    } catch (problem) {
      const { problems, isStopped } = problem as NoAnswer;
      fill(this.answer, isStopped ? el("p", { class: "empty" }, "Stopped. Run the program again to compare.") : problemList(problems));
    } finally {
      this.question = null;
      this.stop.hidden = true;
    }
  }

  private show(found: Compared, title: string): void {
    const total = (where: Where) => found.counts.reduce((sum, each) => sum + each[where], 0);
    const differ = total("here") + total("there");
    const said = differ ? `${counted(total("here"), "row")} only now, ${total("there").toLocaleString("en")} only then, ${total("both").toLocaleString("en")} in both.` : `The same ${counted(total("both"), "row")} as of ${title}.`;
    const chosen = new Set<Where>(differ ? ["here", "there"] : ["both"]);
    const body = el("tbody");
    const draw = () => fill(body, ...found.rows.filter((row) => chosen.has(row.where)).map(line));
    const box = (where: Where) => {
      const input = el("input", { with: { type: "checkbox", checked: chosen.has(where) } });
      input.addEventListener("change", () => {
        if (input.checked) chosen.add(where);
        else chosen.delete(where);
        draw();
      });
      return el("label", { class: "check" }, input, WORDS[where]);
    };
    draw();
    const head = ["event", "then", "now"].map((name) => el("th", { with: { scope: "col" } }, name));
    fill(
      this.answer,
      el("div", { class: "bar" }, el("p", { class: "summary", with: { role: "status" } }, said), box("there"), box("here"), box("both")),
      el("div", { class: "table-ground" }, el("table", { class: "beside-table" }, el("caption", { class: "unseen" }, "Rows then and now"), el("thead", {}, el("tr", {}, ...head)), body)),
      found.of > found.rows.length && el("p", { class: "muted" }, `${(found.of - found.rows.length).toLocaleString("en")} more rows are not shown.`),
    );
  }
}

function line({ where, type, time, values }: Compared["rows"][number]): HTMLElement {
  const said = () => values.map(([name, value]) => el("span", { class: "value" }, el("span", { class: "muted" }, `${name} `), value ?? "–"));
  const none = () => el("span", { class: "muted" }, "–");
  return el(
    "tr",
    { class: where },
    el("th", { with: { scope: "row" } }, type, when(time)),
    ...(where === "both" ? [el("td", { with: { colspan: 2 } }, ...said())] : [el("td", {}, ...(where === "here" ? [none()] : said())), el("td", {}, ...(where === "there" ? [none()] : said()))]),
  );
}

function isSame(one: Version, other: Version): boolean {
  const said = ({ texts, without }: Version) => JSON.stringify([texts, [...without].sort()]);
  return said(one) === said(other);
}
