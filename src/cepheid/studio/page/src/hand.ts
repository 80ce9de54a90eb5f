// Events by hand: a table of which every cell can be changed.
import { button, el, fill } from "./dom";
import { timeOf } from "./lanes";
import { Drawn, Studio } from "./studio";
import { NoAnswer } from "./talk";

// What has no type only lets time pass.
export interface Typed {
  type: string;
  time: string;
  values: Record<string, string>;
}

const PAGE = 50;
const UNDONE = 50; // sets of events that can be gone back to
const QUOTED = ["string", "timestamp", "date", "decimal"]; // whose texts are values as they are
const MICROS: Record<string, number> = {
  microseconds: 1, milliseconds: 1e3, seconds: 1e6, minutes: 6e7, hours: 3.6e9, days: 8.64e10, weeks: 6.048e11,
};

export class Hand {
  readonly element = el("div", { class: "hand" });
  private events: Typed[] = [];
  private before: string[] = []; // earlier sets, as JSON
  private kept = new Map<string, { events: Typed[]; before: string[] }>(); // of other programs, while the page is open
  private program = ""; // of which the events are
  private typing = ""; // the field that has been typed into since it got the focus
  private first = 0; // of the page that is shown
  private undoButton = button("Undo", () => this.undo(), { id: "hand-undo", title: "Take back the last change of the events" });
  private saving = el("form", { class: "bar", with: { hidden: true } });
  private word = el("p", { class: "hint", with: { role: "status" } });

  // `saved` hears the name of a file that the events were saved as.
  constructor(private studio: Studio, private saved: (file: string) => void) {
    studio.on("graph", () => this.draw());
    studio.on("opened", () => this.turnTo(studio.open?.name ?? ""));
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.draw();
  }

  // As lines of a file of events.
  lines(): string[] {
    return this.events.map((event) => lineOf(event, this.studio.drawn));
  }

  // Events of a file or a run, to be changed; what was typed before can be gone back to.
  begin(events: Typed[]): void {
    if (this.events.length > 0) this.remember();
    this.put(events);
  }

  // Other events from now on.
  take(events: Typed[]): void {
    this.remember();
    this.put(events);
  }

  private put(events: Typed[]): void {
    this.events = events.map(({ type, time, values }) => ({ type, time, values: { ...values } }));
    this.first = 0;
    this.changed();
  }

  private turnTo(program: string): void {
    if (program === this.program) return;
    this.kept.set(this.program, { events: this.events, before: this.before });
    ({ events: this.events, before: this.before } = this.kept.get(program) ?? { events: [], before: [] });
    this.program = program;
    this.first = 0;
    this.draw();
  }

  private remember(): void {
    this.typing = "";
    this.undoButton.hidden = false;
    this.before.push(JSON.stringify(this.events));
    this.before.splice(0, this.before.length - UNDONE);
  }

  private changed(): void {
    this.draw();
    this.studio.tell("events");
  }

  private undo(): void {
    const last = this.before.pop();
    if (last === undefined) return;
    this.typing = "";
    this.events = JSON.parse(last) as Typed[];
    this.changed();
  }

  private draw(): void {
    const { drawn } = this.studio;
    const types = drawn?.inputs.filter((type) => drawn.types[type]?.length) ?? [];
    const focus = document.activeElement?.id;
    this.undoButton.hidden = this.before.length === 0;
    this.first = Math.max(0, Math.min(this.first, Math.floor((this.events.length - 1) / PAGE) * PAGE));
    fill(
      this.element,
      !types.length && el("p", { class: "empty" }, "The program says of no events from outside what they look like."),
      this.events.length > 0 && this.table(drawn),
      this.events.length > PAGE && this.pager(),
      el(
        "div",
        { class: "bar" },
        ...types.map((type) => button(`Add ${type}`, () => this.add(type))),
        types.length > 0 && button("Let time pass", () => this.add(""), { title: "Add a time at which nothing comes in, such as the end" }),
        this.undoButton,
        this.events.length > 0 && button("Save as a file", () => this.askName()),
      ),
      this.saving,
      this.word,
    );
    if (focus) document.getElementById(focus)?.focus();
  }

  private add(type: string): void {
    this.remember();
    fill(this.word);
    const last = this.events.findLast((each) => each.type === type);
    const time = type ? String(Number(this.events.at(-1)?.time ?? -1) + 1) : "";
    const values = { ...last?.values };
    const clock = this.studio.drawn?.times[type];
    if (clock) values[clock] = String(Number(values[clock] ?? -1) + 1);
    this.events.push({ type, time: time === "NaN" ? (this.events.at(-1)?.time ?? "") : time, values });
    this.first = this.events.length;
    this.changed();
    this.element.querySelector<HTMLInputElement>("tr.typed:last-of-type input")?.select();
  }

  // A column for each attribute of the types that are there.
  private table(drawn: Drawn | null): HTMLElement {
    const page = this.events.slice(this.first, this.first + PAGE);
    const attributes = (type: string) => drawn?.types[type] ?? [];
    const hasTimes = page.some((event) => !drawn?.times[event.type]); // of others, an attribute is the time
    const names = [...new Set(page.flatMap((event) => attributes(event.type).map(({ name }) => name)))];
    return el(
      "div",
      { class: "hand-ground" },
      el(
        "table",
        {},
        el("caption", { class: "unseen" }, "Events by hand"),
        el("thead", {}, el("tr", {}, ...["event", ...(hasTimes ? ["time"] : []), ...names, ""].map((name) => el("th", { with: { scope: "col" } }, name)))),
        el("tbody", {}, ...page.map((event, place) => this.line(event, this.first + place, hasTimes, names, drawn))),
      ),
    );
  }

  private line(event: Typed, number: number, hasTimes: boolean, names: string[], drawn: Drawn | null): HTMLElement {
    const clock = drawn?.times[event.type];
    const known = new Map(drawn?.types[event.type]?.map(({ name, type }) => [name, type]));
    const cell = (name: string) => {
      const kind = known.get(name);
      if (kind === undefined) return el("td", { class: "none" });
      return el("td", {}, this.field(number, name, kind, event.values[name] ?? "", (text) => (event.values[name] = text)));
    };
    const time = () => this.field(number, "time", "seconds, or 2026-01-31T12:00:00Z", event.time, (text) => (event.time = text));
    return el(
      "tr",
      { class: "typed" },
      el("th", { with: { scope: "row" } }, event.type || el("span", { class: "muted" }, "time passes")),
      hasTimes && el("td", { class: clock ? "none" : "" }, !clock && time()),
      ...names.map(cell),
      el("td", {}, button("✕", () => this.remove(number), { id: `typed-${number}-/remove`, class: "quiet", title: "Remove this event", with: { "aria-label": `Remove ${event.type || "this time"}` } })),
    );
  }

  private field(number: number, name: string, kind: string, value: string, take: (text: string) => void): HTMLElement {
    const size = Math.min(26, Math.max(6, value.length + 1));
    const input = el("input", { id: `typed-${number}-${name}`, with: { value, title: kind, size, spellcheck: "false", autocomplete: "off", "aria-label": name } });
    input.addEventListener("focus", () => (this.typing = ""));
    input.addEventListener("input", () => {
      if (this.typing !== input.id) this.remember();
      this.typing = input.id;
      take(input.value);
      this.studio.tell("events");
    });
    return input;
  }

  private remove(number: number): void {
    this.remember();
    this.events.splice(number, 1);
    this.changed();
  }

  // Up and down within a column.
  private key(event: KeyboardEvent): void {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const [, number, name] = /^typed-(\d+)-(.*)$/s.exec((event.target as HTMLElement).id) ?? [];
    if (!step || number === undefined) return;
    const next = document.getElementById(`typed-${Number(number) + step}-${name}`);
    if (next) next.focus();
    event.preventDefault();
  }

  private pager(): HTMLElement {
    const last = Math.min(this.events.length, this.first + PAGE);
    const go = (first: number) => {
      this.first = first;
      this.draw();
    };
    return el(
      "div",
      { class: "bar pager" },
      button("Earlier", () => go(this.first - PAGE), { id: "hand-earlier", with: { disabled: this.first === 0 } }),
      el("span", {}, `${this.first + 1}–${last} of ${this.events.length.toLocaleString("en")} events`),
      button("Later", () => go(this.first + PAGE), { id: "hand-later", with: { disabled: last === this.events.length } }),
    );
  }

  // Saves them as a file of their own; a file that is there stays.
  private askName(): void {
    const folder = this.studio.open?.name.split("/").slice(0, -1).join("/") ?? "";
    const input = el("input", { id: "events-name", with: { value: `${folder ? `${folder}/` : ""}mine.jsonl`, required: true, spellcheck: "false" } });
    this.saving.onsubmit = (event) => {
      event.preventDefault();
      void this.save(input.value.trim());
    };
    fill(
      this.saving,
      el("label", { with: { for: "events-name" } }, "File"),
      input,
      el("button", { class: "main" }, "Save events"),
      button("Cancel", () => (this.saving.hidden = true)),
    );
    this.saving.hidden = false;
    input.select();
  }

  private async save(file: string): Promise<void> {
    if (!/\.jsonl$/i.test(file)) {
      fill(this.word, "Events by hand are saved as JSON Lines: a name that ends with .jsonl.");
      return;
    }
    const text = this.lines().map((line) => `${line}\n`).join("");
    try {
      const said = await this.studio.talk.ask<{ version?: string }>("save", { file, text, version: null });
      if (said.version === undefined) {
        fill(this.word, `There is a file ${file} already: choose another name.`);
        return;
      }
      this.saving.hidden = true;
      fill(this.word);
      await this.studio.readFiles();
      this.saved(file);
    } catch (problem) {
      fill(this.word, (problem as NoAnswer).message);
    }
  }
}

// The event at another time; where an attribute holds the time, that changes.
export function atTime(event: Typed, micros: number, drawn: Drawn | null): Typed {
  const clock = drawn?.times[event.type];
  if (!clock) return { ...event, time: timeOf(micros) };
  const kind = drawn?.types[event.type]?.find(({ name }) => name === clock)?.type ?? "";
  const count = micros / (MICROS[drawn?.units[event.type] ?? ""] ?? 1);
  const value = QUOTED.includes(kind) ? timeOf(micros) : String(kind === "double" || kind === "float" ? count : Math.round(count));
  return { ...event, time: timeOf(micros), values: { ...event.values, [clock]: value } };
}

function lineOf(event: Typed, drawn: Drawn | null): string {
  const fields: [string, string][] = [];
  if (event.type) fields.push(["@type", JSON.stringify(event.type)]);
  if (!drawn?.times[event.type]) fields.push(["@time", plain(event.time)]);
  for (const { name, type } of drawn?.types[event.type] ?? []) {
    const text = event.values[name] ?? "";
    if (text !== "") fields.push([name, QUOTED.includes(type.split("(")[0] as string) ? JSON.stringify(text) : plain(text)]);
  }
  return `{${fields.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(", ")}}`;
}

// A number, true, false, a list, an object, as they are written, with all digits; else a text, of which the
// studio says what is wrong with it.
function plain(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
