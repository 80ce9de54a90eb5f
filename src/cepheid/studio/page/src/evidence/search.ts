// Search: the shortest inputs that lead to an event, or whose results depend on the order of statements.
import { counted, el, fill } from "../dom";
import { Told } from "../lanes";
import { Studio } from "../studio";
import { NoAnswer } from "../talk";
import { eventLine, field, numberField, playButton, textField } from "./events";
import { Toml } from "./toml";
import { Work } from "./work";

interface Found {
  states: number;
  length: number;
  impossible: string[];
  traces: { lines: string[]; events: Told[]; results: Told[][] }[];
}

const RACE = "\nrace"; // no type has this name

export class Search {
  readonly element: HTMLElement;
  readonly environment: Toml;
  private goal = el("select", {});
  private within = textField("10 seconds", 10);
  private traces = numberField("1", { min: 1, max: 100, step: 1 });
  private seconds = numberField("60", { min: 1, max: 100_000, step: 1 });
  private work = new Work("Search");
  private results = el("div", { class: "evidence-results" });
  private hasFound = false;

  constructor(private studio: Studio) {
    this.environment = new Toml(studio, "environment");
    this.within.required = true;
    this.element = el(
      "form",
      { class: "part-of", with: { "aria-label": "Search" }, on: { submit: (event) => void this.begin(event) } },
      this.environment.element,
      el("div", { class: "bar" }, field("Find", this.goal), field("within", this.within)),
      el("div", { class: "bar" }, field("At most", this.traces, "of the shortest"), field("Give up after", this.seconds, "seconds"), this.work.start, this.work.stop, this.work.bar),
      this.work.status,
      this.work.problems,
      this.results,
    );
    studio.on("opened", () => this.clear());
    studio.on("graph", () => this.offer());
    for (const topic of ["text", "opened-with"] as const) studio.on(topic, () => this.outdate());
    this.clear();
    this.offer();
  }

  private clear(): void {
    this.hasFound = false;
    fill(this.results);
    fill(this.work.problems);
    fill(this.work.status, "Try all inputs that the environment allows, the shortest first.");
  }

  private outdate(): void {
    if (this.hasFound && !this.work.isBusy) fill(this.work.status, "The program has changed: search again to see what leads there now.");
  }

  private offer(): void {
    const wanted = this.goal.value;
    const derived = this.studio.drawn?.derived ?? [];
    const options = [...derived.map((name) => el("option", { with: { value: name } }, name)), el("option", { with: { value: RACE } }, "a race: results that depend on the order of statements")];
    fill(this.goal, ...options);
    this.goal.value = derived.includes(wanted) || wanted === RACE ? wanted : (derived.at(-1) ?? RACE);
  }

  private async begin(event: Event): Promise<void> {
    event.preventDefault();
    if (this.work.isBusy) return;
    const goal = this.goal.value === RACE ? null : this.goal.value;
    const within = this.within.value.trim();
    fill(this.results);
    try {
      const asked = {
        texts: this.studio.texts(),
        environment: await this.environment.given(),
        event: goal,
        within,
        traces: Number(this.traces.value),
        seconds: Number(this.seconds.value),
      };
      const found = await this.work.ask<Found>(this.studio.talk, "search", asked, "Starting …", ({ done }) => `${counted(done, "state")} seen …`);
      if (found) this.show(found, goal, within);
    } catch (problem) {
      this.work.fail(problem as NoAnswer);
    }
  }

  private show(found: Found, goal: string | null, within: string): void {
    this.hasFound = true;
    const { traces } = found;
    const seen = `${counted(found.states, "state")} seen`;
    const length = counted(traces[0]?.events.length ?? 0, "event");
    if (!traces.length) fill(this.work.status, goal === null ? `Within ${within}, no results depend on the order of statements (${seen}, up to ${counted(found.length, "event")}).` : this.none(found, goal, within));
    else if (goal === null) fill(this.work.status, `The results of ${length} depend on the order of statements (${seen}).`);
    else fill(this.work.status, `${length} ${traces[0]?.events.length === 1 ? "leads" : "lead"} to ${goal}, and no fewer (${seen}).`);
    const title = goal === null ? "Events of a race" : `Events that lead to ${goal}`;
    fill(this.results, ...traces.map((trace, at) => this.trace(trace, at, title)));
  }

  private none({ states, impossible }: Found, goal: string, within: string): string {
    const why = states ? "" : `, as none can satisfy ${impossible.join(", ")}`;
    return `Within ${within}, no inputs lead to ${goal}${why} (${counted(states, "state")} seen).`;
  }

  private trace({ lines, events, results }: Found["traces"][number], at: number, title: string): HTMLElement {
    const words = results.length > 1 ? ["either", "or"] : ["then"];
    return el(
      "section",
      { class: "trace" },
      el("div", { class: "line" }, el("h3", {}, `${at + 1}. ${counted(events.length, "event")}`), playButton(this.studio, lines, at ? `${title}, ${at + 1}` : title)),
      ...events.map(eventLine),
      ...results.map((rows, place) => el("div", { class: "result" }, el("span", { class: "muted" }, rows.length ? (words[place] ?? "or") : `${words[place] ?? "or"} nothing`), ...rows.map(eventLine))),
    );
  }
}
