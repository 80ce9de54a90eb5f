// The debugger: a run that stands still, goes forward and back, and shows what the program keeps where it stands.
import { button, Child, counted, el, fill } from "./dom";
import { problemList } from "./findings";
import { Told } from "./lanes";
import { Studio } from "./studio";
import { NoAnswer, Place, Question } from "./talk";
import { Tokens } from "./tokens";
import { when } from "./zone";

type Tagged = [string, Told];

interface PartialMatches {
  statement: string;
  key: (string | null)[];
  place: Place | null;
  pattern: [string, "" | "here" | "awaited"][];
  count: number;
  matches: {
    since: string | null;
    ends: string | null;
    count: number | null;
    bound: Tagged[];
    values: string[];
    awaits: string[];
    forbids: string[];
  }[];
}

interface State {
  session: number;
  events: number;
  step: number;
  of: number;
  clock: string | null;
  said: string;
  over: boolean;
  event: Told | null;
  statement: { name: string; place: Place | null } | null;
  rows: number;
  latest: Told[];
  new: number;
  breakpoints: { number: number; text: string }[];
  stopped: number[];
  partial: PartialMatches[];
  windows: { statement: string; key: (string | null)[]; text: string; rows: { leaves: string | null; events: Tagged[]; values: string[] }[]; count: number; waiting: number }[];
  timers: { due: string; statement: string; kind: string }[];
  timed: number;
  queue: Told[];
  queued: number;
}

interface Begun extends State {
  statements: string[];
  types: string[];
  automata: boolean;
}

const FIRST = 3; // partial matches at a place that are shown at once

// Moves with their buttons and keys.
const MOVES: [move: string, text: string, key: string, title: string][] = [
  ["event-back", "Event back", "p", "Back to the end of the last event (p)"],
  ["back", "Back", "b", "Back one step: a statement takes an event, or a timer fires (b)"],
  ["step", "Step", "s", "On one step: a statement takes an event, or a timer fires (s)"],
  ["event", "Next event", "n", "On to the end of the next event (n)"],
  ["rewind", "Rewind", "r", "Back to the last breakpoint, or to the beginning (r)"],
  ["continue", "Continue", "c", "On to the next breakpoint, or to the end (c)"],
];

export class Debugger {
  readonly element: HTMLElement;
  private start = button("Start", () => void this.begin(), { class: "main" });
  private stop = button("Stop", () => this.question?.cancel(), { with: { hidden: true } });
  private status = el("p", { class: "summary", with: { role: "status" } });
  private problems = el("div");
  private moves = MOVES.map(([move, text, key, title]) => button(text, () => void this.move(move), { title, with: { "aria-keyshortcuts": key } }));
  private scrubber = el("input", { class: "scrubber", with: { type: "range", min: 0, max: 0, "aria-label": "Events that are done" } });
  private place = el("div", { class: "place-line", with: { role: "status" } });
  private breaks: Breaks;
  private tokens: Tokens;
  private shown = el("div");
  private session: HTMLElement;
  private state: State | null = null;
  private question: Question<State> | null = null;
  private wanted: number | null = null; // where the scrubber is, while an answer is on its way

  constructor(private studio: Studio) {
    this.breaks = new Breaks((given) => this.ask("debug-break", given));
    this.tokens = new Tokens(studio);
    this.session = el(
      "div",
      { class: "session", with: { hidden: true } },
      el("div", { class: "bar moves", with: { role: "toolbar", "aria-label": "Moves" } }, ...this.moves),
      el("div", { class: "bar" }, this.scrubber),
      this.place,
      this.breaks.element,
      el("div", { class: "kept" }, this.shown, this.tokens.element),
    );
    this.element = el(
      "div",
      { class: "debugger", with: { tabindex: -1 } },
      el("div", { class: "bar" }, this.status, this.start, this.stop),
      this.problems,
      this.session,
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.scrubber.addEventListener("input", () => this.scrub(Number(this.scrubber.value)));
    studio.on("opened", () => {
      this.end("");
      this.breaks.forget();
    });
    for (const topic of ["text", "opened-with"] as const) studio.on(topic, () => this.end("The program has changed: start again."));
    studio.on("events", () => this.end("The events have changed: start again."));
    this.end("");
  }

  // There is no run any more, which a word explains.
  private end(why: string): void {
    const wasOn = this.state !== null || this.question !== null;
    if (why && !wasOn) return;
    this.question?.cancel();
    this.question = null;
    this.state = null;
    this.wanted = null;
    this.session.hidden = true;
    this.start.disabled = !this.studio.open;
    fill(this.start, "Start");
    fill(this.problems);
    fill(this.status, why || "Go through a run step by step, over the events that Try it has.");
  }

  private async begin(): Promise<void> {
    this.end("");
    fill(this.status, "Starting …");
    const begun = await this.answer<Begun>("debug", { texts: this.studio.texts(), ...this.studio.given() });
    if (!begun) return;
    const earlier = this.breaks.offer(begun.types, begun.statements);
    this.tokens.offer(begun.automata);
    this.session.hidden = false;
    fill(this.start, "Start again");
    this.show(begun);
    this.moves[2]?.focus();
    for (const each of earlier) await this.breaks.set(each);
  }

  private async move(move: string, more: object = {}): Promise<void> {
    await this.ask("debug-move", { move, ...more });
  }

  // The last place of the scrubber counts: those that it was at meanwhile are left out.
  private scrub(events: number): void {
    this.wanted = events;
    void this.follow();
  }

  private async follow(): Promise<void> {
    const events = this.wanted;
    if (events === null || this.question) return;
    this.wanted = null;
    await this.move("go", { events });
  }

  private async ask(verb: string, given: object): Promise<void> {
    const { state } = this;
    if (!state || this.question) return;
    const found = await this.answer<State>(verb, { session: state.session, ...given });
    if (found) this.show(found);
    await this.follow();
  }

  // Null where there is no answer, or where it came too late.
  private async answer<T extends State>(verb: string, given: object): Promise<T | null> {
    const question = this.studio.talk.ask<T>(verb, given);
    this.question = question;
    const waiting = window.setTimeout(() => (this.stop.hidden = false), 400);
    fill(this.problems);
    try {
      const found = await question;
      return this.question === question ? found : null;
    } catch (problem) {
      if (this.question !== question) return null;
      const { problems, isStopped } = problem as NoAnswer;
      const isGone = isStopped || !this.state || problems.some((each) => each.code === "too-large" || each.message.includes("let go"));
      if (isGone) this.end(isStopped ? "Stopped: start again." : this.state ? "The run has ended: start again." : "The run did not start.");
      fill(this.problems, problemList(problems));
      if (this.state) this.show(this.state);
      return null;
    } finally {
      clearTimeout(waiting);
      if (this.question === question) this.question = null;
      this.stop.hidden = this.question === null;
    }
  }

  private key(event: KeyboardEvent): void {
    const isTyping = event.target instanceof HTMLSelectElement || (event.target instanceof HTMLInputElement && event.target.type !== "range");
    const found = MOVES.find(([, , key]) => key === event.key);
    if (isTyping || !found || event.ctrlKey || event.metaKey || event.altKey || !this.state) return;
    event.preventDefault();
    void this.move(found[0]);
  }

  private show(state: State): void {
    this.state = state;
    const { without } = this.studio;
    const off = without.length ? ` Without ${without.join(", ")}.` : "";
    fill(this.status, `${state.events.toLocaleString("en")} of ${counted(state.of, "event")} done, ${counted(state.rows, "row")} so far.${off}`);
    this.scrubber.max = String(state.of);
    if (this.wanted === null) this.scrubber.value = String(state.events);
    const isBegin = state.events === 0 && state.step === 0;
    MOVES.forEach(([move], at) => {
      const isBack = ["event-back", "back", "rewind"].includes(move);
      this.moves[at]?.setAttribute("aria-disabled", String(isBack ? isBegin : state.over));
    });
    const { statement } = state;
    fill(
      this.place,
      el("strong", {}, `${state.events}+${state.step}`),
      state.clock && when(state.clock, "muted"),
      el("span", {}, state.said),
      statement?.place && this.placeButton(statement.place, `line ${statement.place.line}`),
      state.event && this.line("", state.event),
    );
    this.breaks.show(state.breakpoints, state.stopped);
    this.tokens.show(state.session, state.events, state.step);
    fill(
      this.shown,
      group("Queue", state.queued, state.queue.map((event) => this.line("", event)), true),
      group("Partial matches", state.partial.reduce((sum, each) => sum + each.count, 0), state.partial.map((each) => this.partial(each)), true),
      group("Rows", state.rows, state.latest.map((row, at) => this.line("", row, at < state.new ? "new" : "")), true),
      group("Windows", state.windows.length, state.windows.map((each) => this.window(each)), true),
      group("Timers", state.timed, state.timers.map((each) => el("div", { class: "line" }, when(each.due), el("strong", {}, each.statement), el("span", { class: "muted" }, each.kind))), false),
    );
  }

  private partial(found: PartialMatches): HTMLElement {
    const key = found.key.length ? ` [${found.key.join(", ")}]` : "";
    return el(
      "div",
      { class: "stands" },
      el("div", { class: "line" }, el("strong", {}, `${found.statement}${key}`), el("span", { class: "muted" }, counted(found.count, "partial match", "partial matches")), found.place && this.placeButton(found.place, `line ${found.place.line}`)),
      el("pre", {}, ...found.pattern.map(([text, kind]) => (kind ? el("mark", { class: kind, title: kind === "here" ? "here it stands" : "awaited" }, text) : text))),
      ...found.matches.slice(0, FIRST).map((match) => this.match(match)),
      found.count > FIRST &&
        el(
          "details",
          {},
          el("summary", {}, `${(found.count - FIRST).toLocaleString("en")} more`),
          ...found.matches.slice(FIRST).map((match) => this.match(match)),
          found.count > found.matches.length && el("p", { class: "muted" }, `and ${(found.count - found.matches.length).toLocaleString("en")} more`),
        ),
    );
  }

  private match(match: PartialMatches["matches"][number]): HTMLElement {
    return el(
      "div",
      { class: "match" },
      el("div", { class: "line muted" }, match.since && el("span", {}, "since ", when(match.since)), match.ends && el("span", {}, "ends ", when(match.ends)), match.count !== null && el("span", {}, `round ${match.count}`), ...match.values.map((value) => el("span", {}, value))),
      ...match.bound.map(([tag, event]) => this.line(tag, event)),
      ...match.forbids.map((text) => el("div", { class: "line muted" }, `must not come: ${text}`)),
    );
  }

  private window(found: State["windows"][number]): HTMLElement {
    const waiting = found.waiting ? `, ${found.waiting.toLocaleString("en")} waiting` : "";
    const key = found.key.length ? ` [${found.key.join(", ")}]` : "";
    return el(
      "div",
      { class: "stands" },
      el("div", { class: "line" }, el("strong", {}, `${found.statement}${key}`), el("code", {}, found.text), el("span", { class: "muted" }, `${counted(found.count, "row")}${waiting}`)),
      ...found.rows.map((row) =>
        el(
          "div",
          { class: "match" },
          ...row.events.map(([tag, event]) => this.line(tag, event)),
          el("div", { class: "line muted" }, ...row.values.map((value) => el("span", {}, value)), row.leaves && el("span", {}, "leaves ", when(row.leaves))),
        ),
      ),
    );
  }

  private line(tag: string, event: Told, more = ""): HTMLElement {
    const values: Child[] = event.values.map(([name, value]) => el("span", { class: "value" }, el("span", { class: "muted" }, `${name} `), value));
    return el("div", { class: `line ${more}` }, tag && el("span", {}, `${tag} =`), el("span", { class: `event ${event.kind}` }, event.type), when(event.time, "muted"), ...values);
  }

  private placeButton(place: Place, text: string): HTMLElement {
    return button(text, () => this.studio.goTo(place.line, place.column, place.file), { class: "place", title: "Show it in the text" });
  }
}

function group(title: string, count: number, found: HTMLElement[], isOpen: boolean): HTMLElement {
  return el(
    "details",
    { with: { open: isOpen } },
    el("summary", {}, title, el("span", { class: "count" }, count.toLocaleString("en"))),
    ...found,
    count > found.length && title !== "Partial matches" && el("p", { class: "muted" }, `and ${(count - found.length).toLocaleString("en")} more`),
  );
}

// A breakpoint, as the verb takes it.
interface Asked {
  type?: string;
  statement?: string;
  age?: string;
  where?: string;
}

// Where it is to stop: on a type, a statement or an age, perhaps only where something holds.
class Breaks {
  readonly element: HTMLElement;
  private kind = el(
    "select",
    { with: { "aria-label": "Break at" }, on: { change: () => this.arrange() } },
    el("option", { with: { value: "type" } }, "an event of type"),
    el("option", { with: { value: "statement" } }, "a row of"),
    el("option", { with: { value: "age" } }, "a partial match of age"),
  );
  private type = el("select", { with: { "aria-label": "Type of event" } });
  private statement = el("select", { with: { "aria-label": "Statement" } });
  private age = el("input", { with: { "aria-label": "Age", placeholder: "5 sec", size: 7 } });
  private where = el("input", { with: { "aria-label": "Where", placeholder: "where, such as speed > 50", size: 24, spellcheck: "false" } });
  private list = el("ul", { class: "breaks" });

  private known = new Map<number, Asked>(); // those that are set, as they were asked for
  private asked: Asked | null = null; // the last one, until its number is known

  constructor(private ask: (given: object) => Promise<void>) {
    this.element = el(
      "form",
      { class: "bar", with: { "aria-label": "Breakpoints" }, on: { submit: (event) => this.submit(event) } },
      el("span", {}, "Break at"),
      this.kind,
      this.type,
      this.age,
      this.statement,
      this.where,
      el("button", {}, "Add"),
      this.list,
    );
    this.arrange();
  }

  // For a run that has just begun; what stopped the one before it is to be set again, as far as it is still there.
  offer(types: string[], statements: string[]): Asked[] {
    fill(this.type, ...types.map((name) => el("option", {}, name)));
    fill(this.statement, ...statements.map((name) => el("option", {}, name)));
    const earlier = [...this.known.values()];
    this.forget();
    return earlier.filter(({ type, statement }) => types.includes(type ?? "") || statements.includes(statement ?? ""));
  }

  forget(): void {
    this.known.clear();
    this.asked = null;
  }

  async set(asked: Asked): Promise<void> {
    this.asked = asked;
    await this.ask(asked);
  }

  show(breakpoints: State["breakpoints"], stopped: number[]): void {
    const numbers = breakpoints.map(({ number }) => number);
    for (const number of [...this.known.keys()].filter((each) => !numbers.includes(each))) this.known.delete(number);
    const added = numbers.find((each) => !this.known.has(each));
    if (added !== undefined && this.asked) this.known.set(added, this.asked);
    const clear = (number: number) => button("✕", () => void this.ask({ clear: number }), { class: "quiet", title: "Remove this breakpoint", with: { "aria-label": `Remove breakpoint ${number}` } });
    fill(this.list, ...breakpoints.map(({ number, text }) => el("li", { class: stopped.includes(number) ? "stopped" : "" }, stopped.includes(number) && el("strong", {}, "stopped here: "), text, clear(number))));
  }

  private arrange(): void {
    const { value } = this.kind;
    this.type.hidden = value !== "type";
    this.statement.hidden = value === "type";
    this.age.hidden = value !== "age";
    this.age.required = value === "age";
    this.where.hidden = value === "age";
  }

  private submit(event: Event): void {
    event.preventDefault();
    const { value } = this.kind;
    const about = value === "type" ? { type: this.type.value } : { statement: this.statement.value };
    const more = value === "age" ? { age: this.age.value } : this.where.value.trim() ? { where: this.where.value } : {};
    void this.set({ ...about, ...more });
  }
}
