// Try it: events from a file or typed, what the program finds in them, and why.
import { Compare } from "./compare";
import { arrowsBetween, button, counted, el, fill } from "./dom";
import { download, downloadMenu, Files, Made } from "./download";
import { folderOf } from "./files";
import { problemList } from "./findings";
import { atTime, Hand, Typed } from "./hand";
import { Lane, linksOf, lowerBound, microsOf, nameOf, Node, RunAnswer, Spot, spotOf, timeOf, Told } from "./lanes";
import { statementsMenu } from "./leftout";
import { Given, Studio } from "./studio";
import { Rows, Table } from "./table";
import { NoAnswer, Question } from "./talk";
import { Timeline } from "./timeline";
import { WhyNot } from "./whynot";
import { when, zoneSelect } from "./zone";

// No file has these names.
const TYPED = "/typed";
const PLAYED = "/played";
const BESIDE = "/beside"; // all files of events beside the program
const BY_HAND = 2_000; // events that can be changed by hand
const SOON = 250; // milliseconds without a key until a text is searched for

// An event of a run, to be changed by hand, with its place among those of its type.
interface Taken extends Typed {
  index: number;
}

export class TryIt {
  readonly element: HTMLElement;
  private source = el("select", { id: "events", on: { change: () => this.changeSource() } });
  private runButton = button("Run", () => void this.run(), { class: "main", title: "Run the program over these events (Ctrl+Enter)" });
  private stopButton = button("Stop", () => this.question?.cancel(), { with: { hidden: true } });
  private status = el("p", { class: "summary", with: { role: "status" } });
  private hand: Hand;
  private timeline = new Timeline((spot) => void this.chooseSpot(spot), {
    can: (lane) => lane.kind === "in" && (this.answer?.taken ?? 0) <= BY_HAND,
    move: (spot, micros) => void this.moveEvent(spot, micros),
    add: (lane, micros) => void this.addEvent(lane.type, micros),
    remove: (spot) => void this.removeEvent(spot),
  });
  private types = el("div", { class: "tabs", with: { role: "tablist", "aria-label": "Types of events" } });
  private table = new Table(
    (lane, from) => this.fetch(lane, from),
    (lane, index) => void this.chooseRow(lane, index),
  );
  private why = el("section", { class: "why", with: { "aria-label": "Why" } });
  private whyNot: WhyNot;
  private compare: Compare;
  private search = el("input", { class: "search", with: { type: "search", placeholder: "Search events and rows", "aria-label": "Search events and rows", spellcheck: "false" } });
  private searching = 0;
  private waiting: (() => void)[] = []; // for what events look like
  private problems = el("div");
  private results: HTMLElement;
  private answer: RunAnswer | null = null;
  private question: Question<RunAnswer> | null = null;
  private lane: Lane | null = null; // whose table is shown
  private found = ""; // what the run says in a line
  private isOld = false; // the events or statements are not those that ran

  constructor(private studio: Studio) {
    this.hand = new Hand(studio, (file) => {
      this.offer(file);
      studio.tell("events");
    });
    this.compare = new Compare(studio, () => this.given());
    this.whyNot = new WhyNot(studio, this.why, (event) => this.showEvent(event));
    arrowsBetween(this.types);
    const zoom = el(
      "div",
      { class: "bar zoom" },
      el("h3", {}, "Timeline"),
      button("−", () => this.timeline.zoom(1.6), { with: { "aria-label": "Show more time" }, title: "Show more time" }),
      button("+", () => this.timeline.zoom(0.6), { with: { "aria-label": "Show less time" }, title: "Show less time" }),
      button("All", () => this.timeline.fit(), { title: "Show all events" }),
      zoneSelect(),
    );
    const asks = el(
      "div",
      { class: "bar asks" },
      button("Why not?", () => this.whyNot.open(), { title: "Ask what kept a statement from giving a row" }),
      button("Compare", () => this.compare.open(), { title: "Rows beside those of another version of the program" }),
      button("Keep as a test", () => this.askName(), { title: "Keep these events and rows, to be compared by `cepheid test`" }),
      downloadMenu((verb, asked) => void this.saveFile(verb, asked), () => this.files()),
      this.search,
    );
    this.results = el(
      "div",
      { class: "results", with: { hidden: true } },
      zoom,
      this.timeline.element,
      asks,
      this.whyNot.element,
      this.keeping,
      this.compare.element,
      this.types,
      el("div", { class: "found" }, this.table.element, this.why),
    );
    this.element = el(
      "div",
      { class: "try" },
      el("div", { class: "bar" }, el("label", { with: { for: "events" } }, "Events"), this.source, this.againButton, this.byHandButton, statementsMenu(studio), this.runButton, this.stopButton),
      this.hand.element,
      this.status,
      this.problems,
      this.results,
    );
    studio.given = () => this.given();
    studio.on("files", () => this.offer());
    this.search.addEventListener("input", () => {
      clearTimeout(this.searching);
      this.searching = window.setTimeout(() => void this.find(), SOON);
    });
    studio.on("graph", () => {
      for (const done of this.waiting.splice(0)) done();
    });
    studio.on("opened", () => this.begin());
    studio.on("events", () => {
      this.isOld = true;
      this.outdate("The events or statements have changed: run again to see what is found now.");
    });
    for (const topic of ["text", "opened-with"] as const) studio.on(topic, () => this.outdate());
    studio.on("run", () => void this.run());
    studio.on("play", () => {
      this.offer(PLAYED);
      studio.tell("events");
      void this.run();
    });
    this.begin();
  }

  private byHandButton = button("Change by hand", () => void this.changeByHand(), { title: "Make these events a table to be changed" });
  private againButton = button("Others", () => this.changeSeed(), { title: "Other events by chance, from the same scenario" });
  private beside: string[] = []; // files of events in the folder of the program
  private seed = 0; // of events by chance
  private keeping = el("form", { class: "bar", with: { hidden: true } });

  // Where events can come from; those beside the program first.
  private offer(wanted = this.source.value): void {
    const own = folderOf(this.studio.open?.name ?? "");
    const isNear = (name: string) => folderOf(name) === own;
    const rank = (name: string) => (isNear(name) ? 0 : 2) + (/(^|\/)events\./.test(name) ? 0 : 1);
    const files = this.studio.files.filter((file) => file.kind === "events").map((file) => file.name);
    files.sort((a, b) => rank(a) - rank(b));
    const scenarios = this.studio.files.filter((file) => file.kind === "scenario").map((file) => file.name);
    this.beside = files.filter(isNear);
    const near = this.beside[0];
    fill(
      this.source,
      ...files.map((name) => el("option", { with: { value: name } }, isNear(name) ? name.slice(name.lastIndexOf("/") + 1) : name)),
      this.beside.length > 1 && el("option", { with: { value: BESIDE } }, `all ${this.beside.length} files beside the program`),
      ...scenarios.map((name) => el("option", { with: { value: name } }, `${name} (by chance)`)),
      el("option", { with: { value: TYPED } }, "Typed by hand"),
      this.studio.played.length > 0 && el("option", { with: { value: PLAYED } }, this.studio.playedAs),
    );
    const isThere = [...files, ...scenarios, TYPED].includes(wanted) || (wanted === BESIDE && this.beside.length > 1) || (wanted === PLAYED && this.studio.played.length > 0);
    this.source.value = isThere ? wanted : (near ?? TYPED);
    this.sourceChanged();
  }

  private changeSource(): void {
    this.sourceChanged();
    this.studio.tell("events");
  }

  private sourceChanged(): void {
    this.hand.element.hidden = this.source.value !== TYPED;
    this.byHandButton.hidden = this.source.value === TYPED;
    this.againButton.hidden = !this.isByChance;
  }

  private get isByChance(): boolean {
    return this.studio.files.some((file) => file.name === this.source.value && file.kind === "scenario");
  }

  private changeSeed(): void {
    this.seed++;
    this.studio.tell("events");
    void this.run();
  }

  private begin(): void {
    this.answer = null;
    this.results.hidden = true;
    fill(this.problems);
    fill(this.status, "Run the program to see what it finds.");
    this.runButton.disabled = !this.studio.open;
    this.offer("");
  }

  private outdate(why = "The program has changed: run it again to see what it finds now."): void {
    if (this.answer && !this.question) fill(this.status, why);
  }

  private given(): Given {
    const file = this.source.value;
    const { without } = this.studio;
    if (file === BESIDE) return { files: this.beside, without };
    const typed = { [TYPED]: () => this.hand.lines(), [PLAYED]: () => this.studio.played }[file];
    return typed ? { lines: typed(), without } : { events: file, seed: this.seed, without };
  }

  // A run; afterwards an event that came in is chosen again, by its type and time.
  private async run(chosen?: { type: string; micros: number }): Promise<void> {
    if (this.question || !this.studio.open) return;
    fill(this.problems);
    fill(this.status, "Running …");
    this.busy(true);
    this.isOld = false;
    this.question = this.studio.talk.ask<RunAnswer>("run", { texts: this.studio.texts(), ...this.given() }, ({ done, total }) => {
      const of = total && total >= done ? ` of ${total.toLocaleString("en")}` : "";
      fill(this.status, `Running … ${done.toLocaleString("en")}${of} events`);
    });
    try {
      this.show(await this.question);
      if (chosen) this.chooseAgain(chosen.type, chosen.micros);
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
    const left = answer.skipped ? ` ${counted(answer.skipped, "line")} could not be read and ${answer.skipped === 1 ? "was" : "were"} left out.` : "";
    const off = answer.without.length ? ` ${answer.without.join(", ")} did not run.` : "";
    this.found = `${counted(answer.rows, "match", "matches")} in ${counted(answer.taken, "event")}.${left}${off}`;
    fill(this.status, this.found);
    fill(this.problems, problemList([...answer.notes, ...answer.problems]));
    this.results.hidden = false;
    this.keeping.hidden = true;
    this.timeline.show(answer.start, answer.lanes);
    this.whyNot.begin(answer.run, answer.statements);
    this.compare.begin(answer.run);
    this.search.value = "";
    fill(this.why);
    const found = answer.lanes.filter((lane) => lane.kind === "out");
    const first = found.find((lane) => lane.count > 0) ?? found[0] ?? answer.lanes[0];
    fill(this.types, ...this.order().map((lane) => this.tab(lane)));
    if (first) this.chooseType(first);
    else this.table.clear();
  }

  // Events by hand.

  private async changeByHand(): Promise<void> {
    await this.run();
    if (this.answer) await this.byHand();
  }

  // The events of the run as they are changed; true where that could be done.
  private async byHand(change?: (events: Taken[]) => Taken[]): Promise<boolean> {
    try {
      const isTyped = this.source.value === TYPED;
      if (isTyped && this.isOld) {
        fill(this.status, "The events have changed since they ran: run them again, then change them here.");
        return false;
      }
      await this.isKnown();
      const { events } = await this.studio.talk.ask<{ events: Taken[] }>("take-events", { run: this.answer?.run ?? 0 });
      if (!isTyped) this.hand.begin(events); // what the change can be taken back to
      this.offer(TYPED);
      this.isOld = false; // they are those of the run
      if (change) this.hand.take(change(events).sort((one, other) => microsOf(one.time) - microsOf(other.time)));
      else fill(this.status, this.found);
      return true;
    } catch (problem) {
      this.gone(problem as NoAnswer);
      return false;
    }
  }

  // What events look like is known, or cannot be, as the program cannot be read.
  private async isKnown(): Promise<void> {
    const { studio } = this;
    while (!studio.drawn && !studio.isDrawnOld) await new Promise<void>((done) => this.waiting.push(done));
  }

  private async moveEvent(spot: Spot, micros: number): Promise<void> {
    const type = this.answer?.lanes[spot.lane]?.type ?? "";
    const moved = (event: Taken): Taken => (event.type === type && event.index === spot.index ? { ...event, ...atTime(event, micros, this.studio.drawn) } : event);
    if (await this.byHand((events) => events.map(moved))) await this.run({ type, micros });
  }

  // One more, with the values of the last one before it.
  private async addEvent(type: string, micros: number): Promise<void> {
    const added = (events: Taken[]): Taken[] => {
      const own = events.filter((event) => event.type === type);
      const like = own.findLast((event) => microsOf(event.time) <= micros) ?? own[0];
      return like ? [...events, { ...like, ...atTime(like, micros, this.studio.drawn) }] : events;
    };
    if (await this.byHand(added)) await this.run({ type, micros });
  }

  private async removeEvent(spot: Spot): Promise<void> {
    const type = this.answer?.lanes[spot.lane]?.type ?? "";
    const stays = (event: Taken) => event.type !== type || event.index !== spot.index;
    if (await this.byHand((events) => events.filter(stays))) await this.run();
  }

  private chooseAgain(type: string, micros: number): void {
    const lane = this.answer?.lanes.findIndex((each) => each.kind === "in" && each.type === type) ?? -1;
    const { times } = this.answer?.lanes[lane] ?? { times: [] };
    const index = lowerBound(times, micros - (this.answer?.start ?? 0));
    if (lane >= 0 && times.length) void this.chooseSpot({ lane, index: Math.min(index, times.length - 1) });
  }

  // Search.

  private async find(): Promise<void> {
    const { answer } = this;
    if (!answer) return;
    const text = this.search.value;
    try {
      const found = text ? await this.studio.talk.ask<{ kind: string; type: string; count: number }[]>("find", { run: answer.run, text }) : [];
      if (this.answer !== answer || this.search.value !== text) return;
      this.order().forEach((lane, place) => {
        const count = found.find((each) => each.kind === lane.kind && each.type === lane.type)?.count;
        const of = lane.count.toLocaleString("en");
        fill(this.types.children[place]?.querySelector(".count") as Element, count === undefined ? of : `${count.toLocaleString("en")} of ${of}`);
      });
      const place = [...this.types.children].findIndex((tab) => tab.getAttribute("aria-selected") === "true");
      const lane = this.order()[place];
      if (lane) this.chooseType(lane);
    } catch (problem) {
      this.gone(problem as NoAnswer);
    }
  }

  private order(): Lane[] {
    const lanes = this.answer?.lanes ?? [];
    return [...lanes.filter((each) => each.kind === "out"), ...lanes.filter((each) => each.kind === "in")];
  }

  // Files.

  private files(): Files {
    const run = { run: this.answer?.run ?? 0 };
    const shown = { ...run, kind: this.lane?.kind, type: this.lane?.type, where: this.search.value || null };
    return { all: run, shown, report: { texts: this.studio.texts(), ...this.given() } };
  }

  private async saveFile(verb: string, asked: object): Promise<void> {
    try {
      download(await this.studio.talk.ask<Made>(verb, asked));
    } catch (problem) {
      this.gone(problem as NoAnswer);
    }
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
    const order = this.order();
    this.lane = lane;
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

  private async fetch(lane: Lane, from: number): Promise<Rows> {
    try {
      const asked = { run: this.answer?.run ?? 0, kind: lane.kind, type: lane.type, from, where: this.search.value || null };
      return await this.studio.talk.ask<Rows>("rows", asked);
    } catch (problem) {
      this.gone(problem as NoAnswer);
      return { rows: [], count: 0 };
    }
  }

  private gone(problem: NoAnswer): void {
    fill(this.problems, problemList(problem.problems ?? []));
  }

  private async chooseSpot(spot: Spot): Promise<void> {
    const lane = this.answer?.lanes[spot.lane];
    if (!lane) return;
    this.endSearch();
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
    this.endSearch();
    this.timeline.mark(spot, []);
    this.chooseType(lane, spot.index);
    this.element.scrollTop = scrollTop;
  }

  // All rows again, so that the one that is wanted is among them.
  private endSearch(): void {
    if (!this.search.value) return;
    this.search.value = "";
    this.order().forEach((lane, place) => fill(this.types.children[place]?.querySelector(".count") as Element, lane.count.toLocaleString("en")));
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
      when(node.time, "muted"),
      ...values,
      node.cut && el("span", { class: "muted" }, "explained above"),
    );
    const item = el("li", {}, line, below);
    lists.at(-1)?.append(item);
    lists.push(below);
  }
  return top;
}
