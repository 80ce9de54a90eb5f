// Properties: patterns that say what must never, eventually or always be so, whether it is, and what breaks it.
import { button, counted, el, fill } from "../dom";
import { Told } from "../lanes";
import { Studio } from "../studio";
import { NoAnswer, Place } from "../talk";
import { Chance } from "./chance";
import { eventLine, field, numberField, playButton } from "./events";
import { interval } from "./pictures";
import { Work } from "./work";

export interface Property {
  name: string;
  kind: "never" | "eventually" | "always";
  place: Place | null;
}

interface Verdict {
  verdict: "holds" | "broken" | "within-precision" | "open";
  said: string;
  reasons: string[];
  low: number;
  estimate: number;
  high: number;
  bound: number;
  trace: { lines: string[]; events: Told[]; count: number } | null;
}

const KINDS = { never: "must never match", eventually: "must match in every run", always: "must hold for every event" };
const VERDICTS = { holds: ["✓", "holds"], broken: ["✕", "broken"], "within-precision": ["?", "too close to the bound"], open: ["?", "still open"] };

export class Properties {
  readonly element: HTMLFormElement;
  private precision = numberField("0.05", { min: 0.001, max: 0.5, step: "any" });
  private bound = numberField("0", { min: 0, max: 99.9, step: "any" });
  private isSequential = el("input", { with: { type: "checkbox" } });
  private work = new Work("Verify all");
  private list = el("ul", { class: "properties" });
  private verdicts = new Map<string, Verdict>();
  private shown = ""; // the properties, as data

  constructor(private studio: Studio, private chance: Chance) {
    this.element = el(
      "form",
      { class: "part-of", with: { "aria-label": "Properties" }, on: { submit: (event) => void this.begin(event) } },
      el("div", { class: "bar" }, field("Precision ±", this.precision), field("May be broken in", this.bound, "% of runs"), el("label", { class: "field", title: "As soon as a run breaks it, or it is clear on which side of the bound it is" }, this.isSequential, "stop as soon as it is clear"), this.work.start, this.work.stop, this.work.bar),
      this.work.status,
      this.work.problems,
      this.list,
    );
    studio.on("opened", () => this.clear());
    studio.on("graph", () => this.show());
    for (const topic of ["text", "opened-with"] as const) studio.on(topic, () => this.outdate());
    this.clear();
  }

  private get properties(): Property[] {
    return this.studio.drawn?.properties ?? [];
  }

  private clear(): void {
    this.verdicts.clear();
    this.shown = "";
    fill(this.work.status);
    fill(this.work.problems);
    this.show();
  }

  private outdate(): void {
    if (this.verdicts.size && !this.work.isBusy) fill(this.work.status, "The program has changed: verify again to see whether this is still so.");
  }

  private show(isNew = false): void {
    const now = JSON.stringify(this.properties);
    if (now === this.shown && !isNew) return;
    this.shown = now;
    this.work.start.hidden = this.properties.length < 2;
    fill(this.list, ...this.properties.map((each) => this.line(each)));
    if (this.properties.length) return;
    fill(
      this.list,
      el("li", { class: "empty" }, "This program has no property yet. Say of a pattern what must be so, with ", el("code", {}, "@Property(kind='never')"), ", ", el("code", {}, "'eventually'"), " or ", el("code", {}, "'always'"), " before it."),
    );
  }

  private line(property: Property): HTMLElement {
    const { name, kind, place } = property;
    const found = this.verdicts.get(name);
    const verify = button("Verify", () => void this.verify([property]), { with: { disabled: this.work.isBusy, "aria-label": `Verify ${name}` } });
    return el(
      "li",
      {},
      el(
        "div",
        { class: "line" },
        el("strong", {}, name),
        el("span", { class: "muted" }, KINDS[kind]),
        place && button(`line ${place.line}`, () => this.studio.goTo(place.line, place.column, place.file), { class: "place", title: "Show it in the text" }),
        verify,
      ),
      found && this.verdict(name, found),
    );
  }

  private verdict(name: string, found: Verdict): HTMLElement {
    const [sign, word] = VERDICTS[found.verdict];
    const { trace } = found;
    return el(
      "div",
      { class: `verdict ${found.verdict}` },
      el("p", {}, el("span", { class: "sign" }, `${sign} ${word}`), " ", found.said),
      interval(found.low, found.estimate, found.high, found.bound),
      ...found.reasons.filter(Boolean).map((reason) => el("p", { class: "muted" }, reason)),
      trace && el("div", { class: "line" }, el("h3", {}, `A run that breaks it: ${counted(trace.count, "event")}`), playButton(this.studio, trace.lines, `Events that break ${name}`)),
      trace && el("div", { class: "trace" }, ...trace.events.map(eventLine), trace.count > trace.events.length && el("p", { class: "muted" }, `and ${(trace.count - trace.events.length).toLocaleString("en")} more`)),
    );
  }

  private begin(event: Event): void {
    event.preventDefault();
    void this.verify(this.properties);
  }

  private async verify(properties: Property[]): Promise<void> {
    if (this.work.isBusy || !this.element.reportValidity()) return;
    try {
      const given = await this.chance.given();
      const how = { precision: Number(this.precision.value), bound: Number(this.bound.value) / 100, sequential: this.isSequential.checked };
      for (const { name } of properties) {
        const asked = { texts: this.studio.texts(), property: name, ...how, ...given };
        const work = this.work.ask<Verdict>(this.studio.talk, "verify", asked, `Looking into ${name} …`, ({ done, total }) => `${name}: ${done.toLocaleString("en")} of ${counted(total ?? 0, "run")} …`);
        this.show(true);
        const found = await work;
        if (found) this.verdicts.set(name, found);
        else this.verdicts.delete(name);
        this.show(true);
        if (!found) return;
      }
    } catch (problem) {
      this.work.fail(problem as NoAnswer);
    }
  }
}
