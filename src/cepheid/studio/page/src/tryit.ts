// Try it: events from a file or typed, what the program finds in them, and why.
import { arrowsBetween, button, counted, el, fill } from "./dom";
import { folderOf } from "./files";
import { problemList } from "./findings";
import { Hand } from "./hand";
import { Lane, linksOf, nameOf, Node, RunAnswer, Spot, spotOf, timeOf, Told } from "./lanes";
import { Studio } from "./studio";
import { Row, Table } from "./table";
import { NoAnswer, Question } from "./talk";
import { Timeline } from "./timeline";
import { WhyNot } from "./whynot";

const TYPED = "";
const PLAYED = "/played"; // no file has this name

export class TryIt {
  readonly element: HTMLElement;
  private source = el("select", { id: "events", on: { change: () => this.changeSource() } });
  private runButton = button("Run", () => void this.run(), { class: "main", title: "Run the program over these events (Ctrl+Enter)" });
  private stopButton = button("Stop", () => this.question?.cancel(), { with: { hidden: true } });
  private status = el("p", { class: "summary", with: { role: "status" } });
  private hand: Hand;
  private timeline = new Timeline((spot) => void this.chooseSpot(spot));
  private types = el("div", { class: "tabs", with: { role: "tablist", "aria-label": "Types of events" } });
  private table = new Table(
    (lane, from) => this.fetch(lane, from),
    (lane, index) => void this.chooseRow(lane, index),
  );
  private why = el("section", { class: "why", with: { "aria-label": "Why" } });
  private whyNot: WhyNot;
  private problems = el("div");
  private results: HTMLElement;
  private answer: RunAnswer | null = null;
  private question: Question<RunAnswer> | null = null;

  constructor(private studio: Studio) {
    this.hand = new Hand(studio);
    this.whyNot = new WhyNot(studio, this.why, (event) => this.showEvent(event));
    arrowsBetween(this.types);
    const zoom = el(
      "div",
      { class: "bar zoom" },
      el("h3", {}, "Timeline"),
      button("−", () => this.timeline.zoom(1.6), { with: { "aria-label": "Show more time" }, title: "Show more time" }),
      button("+", () => this.timeline.zoom(0.6), { with: { "aria-label": "Show less time" }, title: "Show less time" }),
      button("All", () => this.timeline.fit(), { title: "Show all events" }),
      button("Why not?", () => this.whyNot.open(), { title: "Ask what kept a statement from giving a row" }),
      button("Keep as a test", () => this.askName(), { title: "Keep these events and rows, to be compared by `cepheid test`" }),
    );
    this.results = el(
      "div",
      { class: "results", with: { hidden: true } },
      zoom,
      this.whyNot.element,
      this.timeline.element,
      this.keeping,
      this.types,
      el("div", { class: "found" }, this.table.element, this.why),
    );
    this.element = el(
      "div",
      { class: "try" },
      el("div", { class: "bar" }, el("label", { with: { for: "events" } }, "Events"), this.source, this.runButton, this.stopButton),
      this.hand.element,
      this.status,
      this.problems,
      this.results,
    );
    studio.given = () => this.given();
    studio.on("files", () => this.offer());
    studio.on("opened", () => this.begin());
    for (const topic of ["text", "opened-with"] as const) studio.on(topic, () => this.outdate());
    studio.on("run", () => void this.run());
    studio.on("play", () => {
      this.offer(PLAYED);
      studio.tell("events");
      void this.run();
    });
    this.begin();
  }

  private keeping = el("form", { class: "bar", with: { hidden: true } });

  // Where events can come from; those beside the program first.
  private offer(wanted = this.source.value): void {
    const own = folderOf(this.studio.open?.name ?? "");
    const isNear = (name: string) => folderOf(name) === own;
    const rank = (name: string) => (isNear(name) ? 0 : 2) + (/(^|\/)events\./.test(name) ? 0 : 1);
    const files = this.studio.files.filter((file) => file.kind === "events").map((file) => file.name);
    files.sort((a, b) => rank(a) - rank(b));
    const near = files.find(isNear);
    fill(
      this.source,
      ...files.map((name) => el("option", { with: { value: name } }, name)),
      el("option", { with: { value: TYPED } }, "Typed by hand"),
      this.studio.played.length > 0 && el("option", { with: { value: PLAYED } }, this.studio.playedAs),
    );
    const isThere = files.includes(wanted) || (wanted === PLAYED && this.studio.played.length > 0);
    this.source.value = isThere && wanted ? wanted : (near ?? TYPED);
    this.sourceChanged();
  }

  private changeSource(): void {
    this.sourceChanged();
    this.studio.tell("events");
  }

  private sourceChanged(): void {
    this.hand.element.hidden = this.source.value !== TYPED;
  }

  private begin(): void {
    this.answer = null;
    this.results.hidden = true;
    fill(this.problems);
    fill(this.status, "Run the program to see what it finds.");
    this.runButton.disabled = !this.studio.open;
    this.offer("");
  }

  private outdate(): void {
    if (this.answer) fill(this.status, "The program has changed: run it again to see what it finds now.");
  }

  private given(): { events: string } | { lines: string[] } {
    const file = this.source.value;
    const typed = { [TYPED]: () => this.hand.lines(), [PLAYED]: () => this.studio.played }[file];
    return typed ? { lines: typed() } : { events: file };
  }

  private async run(): Promise<void> {
    if (this.question || !this.studio.open) return;
    fill(this.problems);
    fill(this.status, "Running …");
    this.busy(true);
    this.question = this.studio.talk.ask<RunAnswer>("run", { texts: this.studio.texts(), ...this.given() }, ({ done, total }) => {
      const of = total && total >= done ? ` of ${total.toLocaleString("en")}` : "";
      fill(this.status, `Running … ${done.toLocaleString("en")}${of} events`);
    });
    try {
      this.show(await this.question);
    } catch (problem) {
      this.fail(problem as NoAnswer);
    } finally {
      this.question = null;
      this.busy(false);
    }
  }

  private busy(isBusy: boolean): void {
    this.runButton.disabled = isBusy;
    this.stopButton.hidden = !isBusy;
  }

  private fail(problem: NoAnswer): void {
    this.answer = null;
    this.results.hidden = true;
    fill(this.status, problem.isStopped ? "Stopped." : "The program did not run.");
    fill(this.problems, problemList(problem.problems ?? []));
  }

  private show(answer: RunAnswer): void {
    this.answer = answer;
    const left = answer.skipped ? ` ${counted(answer.skipped, "line")} could not be read and were left out.` : "";
    fill(this.status, `${counted(answer.rows, "match", "matches")} in ${counted(answer.taken, "event")}.${left}`);
    fill(this.problems, problemList([...answer.problems, ...answer.notes]));
    this.results.hidden = false;
    this.keeping.hidden = true;
    this.timeline.show(answer.start, answer.lanes);
    this.whyNot.begin(answer.run, answer.statements);
    fill(this.why);
    const found = answer.lanes.filter((lane) => lane.kind === "out");
    const first = found.find((lane) => lane.count > 0) ?? found[0] ?? answer.lanes[0];
    fill(this.types, ...[...found, ...answer.lanes.filter((lane) => lane.kind === "in")].map((lane) => this.tab(lane)));
    if (first) this.chooseType(first);
    else this.table.clear();
  }

  private tab(lane: Lane): HTMLElement {
    return el(
      "button",
      { class: lane.kind, with: { type: "button", role: "tab", "aria-selected": false, tabindex: -1 }, on: { click: () => this.chooseType(lane) } },
      nameOf(lane, this.answer?.lanes ?? []),
      el("span", { class: "count" }, lane.count.toLocaleString("en")),
    );
  }

  private chooseType(lane: Lane, index = -1): void {
    if (!this.answer) return;
    const order = [...this.answer.lanes.filter((each) => each.kind === "out"), ...this.answer.lanes.filter((each) => each.kind === "in")];
    [...this.types.children].forEach((tab, place) => {
      const isChosen = order[place] === lane;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.setAttribute("tabindex", isChosen ? "0" : "-1");
      if (isChosen) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    if (index < 0) {
      const hint = lane.kind === "out" && lane.count ? "Choose a row to see why it was found." : "";
      fill(this.why, hint && el("p", { class: "empty" }, hint));
    }
    void this.table.show(lane, index);
  }

  private async fetch(lane: Lane, from: number): Promise<Row[]> {
    try {
      const asked = { run: this.answer?.run ?? 0, kind: lane.kind, type: lane.type, from };
      return (await this.studio.talk.ask<{ rows: Row[] }>("rows", asked)).rows;
    } catch (problem) {
      this.gone(problem as NoAnswer);
      return [];
    }
  }

  private gone(problem: NoAnswer): void {
    fill(this.problems, problemList(problem.problems ?? []));
  }

  private async chooseSpot(spot: Spot): Promise<void> {
    const lane = this.answer?.lanes[spot.lane];
    if (!lane) return;
    this.chooseType(lane, spot.index);
    await this.explain(lane, spot.index);
  }

  private async chooseRow(lane: Lane, index: number): Promise<void> {
    await this.explain(lane, index);
  }

  private async explain(lane: Lane, index: number): Promise<void> {
    const { answer } = this;
    if (!answer) return;
    const spot = { lane: answer.lanes.indexOf(lane), index };
    this.whyNot.choose({ kind: lane.kind, type: lane.type, index, time: timeOf(answer.start + (lane.times[index] ?? 0)) });
    if (lane.kind === "in") {
      this.timeline.mark(spot, []);
      fill(this.why, el("p", { class: "empty" }, "This event came in: nothing is behind it."));
      return;
    }
    try {
      const asked = { run: answer.run, type: lane.type, index };
      const found = await this.studio.talk.ask<{ tree: Node[]; more: boolean }>("behind", asked);
      if (this.answer !== answer) return;
      this.timeline.mark(spot, linksOf(answer.lanes, spot, found.tree));
      fill(
        this.why,
        el("h3", {}, `Why ${lane.type}?`),
        found.tree.length ? treeOf(found.tree) : el("p", { class: "empty" }, "No event is behind it: time alone made it so."),
        found.more && el("p", { class: "muted" }, "There are more than are shown here."),
      );
    } catch (problem) {
      this.gone(problem as NoAnswer);
    }
  }

  // An event that an answer names; the answer stays.
  private showEvent(event: Told): void {
    const spot = spotOf(this.answer?.lanes ?? [], event);
    const lane = spot && this.answer?.lanes[spot.lane];
    if (!lane) return;
    const { scrollTop } = this.element;
    this.timeline.mark(spot, []);
    this.chooseType(lane, spot.index);
    this.element.scrollTop = scrollTop;
  }

  // Keeps the run as a case for `cepheid test`.
  private askName(): void {
    const input = el("input", { id: "case-name", with: { value: "example", required: true, spellcheck: "false" } });
    const keep = async (event: Event) => {
      event.preventDefault();
      try {
        const kept = await this.studio.talk.ask<{ folder: string }>("keep", { run: this.answer?.run ?? 0, name: input.value });
        this.keeping.hidden = true;
        fill(this.status, `Kept in ${kept.folder}. \`cepheid test\` compares what the program gives then.`);
        fill(this.problems);
        await this.studio.readFiles();
      } catch (problem) {
        this.gone(problem as NoAnswer);
      }
    };
    this.keeping.onsubmit = (event) => void keep(event);
    fill(
      this.keeping,
      el("label", { with: { for: "case-name" } }, "Name of the test"),
      input,
      el("button", { class: "main" }, "Keep"),
      button("Cancel", () => (this.keeping.hidden = true)),
    );
    this.keeping.hidden = false;
    input.select();
  }
}

// A list in lists, of nodes with their depths.
function treeOf(tree: Node[]): HTMLElement {
  const top = el("ul", { class: "tree" });
  const lists = [top];
  for (const node of tree) {
    lists.length = Math.max(1, Math.min(lists.length, node.depth));
    const below = el("ul");
    const values = node.values.map(([name, value]) => el("span", { class: "value" }, el("span", { class: "muted" }, `${name} `), value));
    const line = el(
      "div",
      { class: "line" },
      el("span", { class: `event ${node.kind}` }, node.type),
      el("time", { class: "muted", with: { datetime: node.time } }, node.time),
      ...values,
      node.cut && el("span", { class: "muted" }, "explained above"),
    );
    const item = el("li", {}, line, below);
    lists.at(-1)?.append(item);
    lists.push(below);
  }
  return top;
}
