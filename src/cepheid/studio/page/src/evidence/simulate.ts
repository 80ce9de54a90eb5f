// Simulate: many runs by chance, how often each event happens in them, and single runs to be played.
import { button, counted, el, fill } from "../dom";
import { Studio } from "../studio";
import { NoAnswer } from "../talk";
import { Chance } from "./chance";
import { field, numberField, play } from "./events";
import { Bars, histogram, Means, settling, short } from "./pictures";
import { Work } from "./work";

interface Counted {
  name: string;
  derived: boolean;
  min: number;
  max: number;
  median: number;
  mean: number;
  sd: number;
  ci: [number, number];
  ratio: number | null;
  fewest: number; // numbers of runs
  most: number;
  bars: Bars;
  means: Means;
}

interface Simulated {
  simulation: number;
  runs: number;
  seed: number;
  confidence: number;
  types: Counted[];
}

const HEADS = ["event", "min", "max", "median", "mean", "interval", "sd", "ratio"];

export class Simulate {
  readonly element: HTMLElement;
  private runs = numberField("256", { min: 1, max: 1_000_000_000, step: 1 });
  private work = new Work("Simulate");
  private results = el("div", { class: "evidence-results" });
  private found: Simulated | null = null;
  private title = "";

  constructor(private studio: Studio, private chance: Chance) {
    this.element = el(
      "form",
      { class: "part-of", with: { "aria-label": "Simulate" }, on: { submit: (event) => void this.begin(event) } },
      el("div", { class: "bar" }, field("Runs", this.runs), this.work.start, this.work.stop, this.work.bar),
      this.work.status,
      this.work.problems,
      this.results,
    );
    studio.on("opened", () => this.clear());
    for (const topic of ["text", "opened-with"] as const) studio.on(topic, () => this.outdate());
    this.clear();
  }

  private clear(): void {
    this.found = null;
    fill(this.results);
    fill(this.work.problems);
    fill(this.work.status, "Run the program over many runs of events that happen by chance, and count what it finds.");
  }

  private outdate(): void {
    if (this.found && !this.work.isBusy) fill(this.work.status, "The program has changed: simulate again to see what it finds now.");
  }

  private async begin(event: Event): Promise<void> {
    event.preventDefault();
    if (this.work.isBusy) return;
    try {
      const given = await this.chance.given();
      const asked = { texts: this.studio.texts(), runs: Number(this.runs.value), ...given };
      const title = this.chance.scenario.name;
      const found = await this.work.ask<Simulated>(this.studio.talk, "simulate", asked, "The first runs are on their way …", ({ done, total }) => `${done.toLocaleString("en")} of ${counted(total ?? 0, "run")} …`);
      if (!found) return;
      this.title = title;
      this.show(found);
    } catch (problem) {
      this.work.fail(problem as NoAnswer);
    }
  }

  private show(found: Simulated): void {
    this.found = found;
    const percent = `${Number((100 * found.confidence).toPrecision(4))} %`;
    fill(this.work.status, `${counted(found.runs, "run")}, seed ${found.seed}. The intervals of the means are at ${percent}; the ratio is to all events of the scenario.`);
    const pictures = el("section", { class: "pictures", with: { "aria-label": "Pictures" } });
    const lines = found.types.map((each) => this.line(each, () => this.picture(pictures, each)));
    const table = el(
      "table",
      {},
      el("caption", { class: "unseen" }, "Events in a run"),
      el("thead", {}, el("tr", {}, ...HEADS.map((head, at) => el("th", { class: at ? "number" : "", with: { scope: "col" } }, head)))),
      el("tbody", {}, ...lines),
    );
    const single = numberField("0", { min: 0, max: found.runs - 1, step: 1 });
    const open = button("Open in Try it", () => void this.open(Number(single.value)), { title: "Run the program over the events of this run" });
    fill(this.results, el("div", { class: "table-ground" }, table), pictures, el("div", { class: "bar" }, field("Run", single), open));
    const first = found.types.findIndex((each) => each.derived);
    lines[Math.max(first, 0)]?.click();
  }

  private line(each: Counted, show: () => void): HTMLElement {
    const numbers = [short(each.min), short(each.max), short(each.median), short(each.mean), `${short(each.ci[0])} to ${short(each.ci[1])}`, short(each.sd), each.ratio === null ? "" : String(Number(each.ratio.toPrecision(3)))];
    const take = () => {
      for (const other of line.parentElement?.children ?? []) other.classList.toggle("chosen", other === line);
      show();
    };
    const line = el(
      "tr",
      {
        with: { tabindex: 0 },
        on: {
          click: take,
          keydown: (event) => {
            const other = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
            if (other instanceof HTMLElement) other.focus();
            else if (event.key === "Enter" || event.key === " ") take();
            else return;
            event.preventDefault();
          },
        },
      },
      el("td", { class: each.derived ? "derived" : "" }, each.name),
      ...numbers.map((number) => el("td", { class: "number" }, number)),
    );
    return line;
  }

  private picture(ground: HTMLElement, each: Counted): void {
    const run = (what: string, number: number, count: number) =>
      button(`Run ${number.toLocaleString("en")}`, () => void this.open(number), { class: "place", title: `Open the run with the ${what}, ${count.toLocaleString("en")}, in Try it`, with: { "aria-label": `Run ${number}, with the ${what}` } });
    fill(
      ground,
      el("h3", {}, each.name),
      el("div", { class: "side-by-side" }, histogram(each.name, each.bars, each.mean), settling(each.name, each.means)),
      el("p", { class: "muted" }, "The fewest were in ", run("fewest", each.fewest, each.min), ", the most in ", run("most", each.most, each.max), "."),
    );
  }

  private async open(number: number): Promise<void> {
    const { found } = this;
    if (!found) return;
    try {
      const asked = { simulation: found.simulation, number };
      const { lines } = await this.studio.talk.ask<{ lines: string[] }>("simulated-run", asked);
      play(this.studio, lines, `Run ${number.toLocaleString("en")} of ${this.title}`);
    } catch (problem) {
      this.work.fail(problem as NoAnswer);
    }
  }
}
