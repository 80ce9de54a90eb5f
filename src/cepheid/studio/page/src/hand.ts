// Events that are typed: a line for each, with a field for each of its attributes.
import { button, el, fill } from "./dom";
import { Drawn, Studio } from "./studio";

interface Typed {
  type: string;
  time: string;
  values: Record<string, string>;
}

export class Hand {
  readonly element = el("div", { class: "hand" });
  private events: Typed[] = [];

  constructor(private studio: Studio) {
    studio.on("graph", () => this.draw());
    this.draw();
  }

  // As lines of a file of events.
  lines(): string[] {
    const { drawn } = this.studio;
    return this.events.map((event) => JSON.stringify(recordOf(event, drawn)));
  }

  private draw(): void {
    const { drawn } = this.studio;
    const types = drawn?.inputs.filter((type) => drawn.types[type]?.length) ?? [];
    const focus = document.activeElement?.id;
    fill(
      this.element,
      !types.length && el("p", { class: "empty" }, "The program says of no events from outside what they look like."),
      ...this.events.map((event, number) => this.line(event, number, drawn)),
      el("div", { class: "bar" }, ...types.map((type) => button(`Add ${type}`, () => this.add(type)))),
    );
    if (focus) document.getElementById(focus)?.focus();
  }

  private add(type: string): void {
    const last = this.events.findLast((each) => each.type === type);
    const time = String(Number(this.events.at(-1)?.time ?? -1) + 1);
    const values = { ...last?.values };
    const clock = this.studio.drawn?.times[type];
    if (clock) values[clock] = String(Number(values[clock] ?? -1) + 1);
    this.events.push({ type, time: time === "NaN" ? "" : time, values });
    this.draw();
    this.studio.tell("events");
    this.element.querySelector<HTMLInputElement>(".typed:last-of-type input")?.select();
  }

  private line(event: Typed, number: number, drawn: Drawn | null): HTMLElement {
    const clock = drawn?.times[event.type];
    const fields = (drawn?.types[event.type] ?? []).map((attribute) =>
      field(`typed-${number}-${attribute.name}`, attribute.name, attribute.type, event.values[attribute.name] ?? "", (text) => {
        event.values[attribute.name] = text;
        this.studio.tell("events");
      }),
    );
    const time = field(`typed-${number}-@time`, "time", "seconds, or 2026-01-31T12:00:00Z", event.time, (text) => {
      event.time = text;
      this.studio.tell("events");
    });
    const remove = () => {
      this.events.splice(number, 1);
      this.draw();
      this.studio.tell("events");
    };
    return el(
      "fieldset",
      { class: "typed" },
      el("legend", {}, event.type),
      !clock && time,
      ...fields,
      button("✕", remove, { class: "quiet", title: "Remove this event", with: { "aria-label": `Remove ${event.type}` } }),
    );
  }
}

function field(id: string, name: string, kind: string, value: string, take: (text: string) => void): HTMLElement {
  const input = el("input", { id, with: { value, title: kind, size: 8, spellcheck: "false", autocomplete: "off" } });
  input.addEventListener("input", () => take(input.value));
  return el("label", {}, el("span", {}, name), input);
}

function recordOf(event: Typed, drawn: Drawn | null): Record<string, unknown> {
  const record: Record<string, unknown> = { "@type": event.type };
  if (!drawn?.times[event.type]) record["@time"] = plain(event.time);
  for (const { name, type } of drawn?.types[event.type] ?? []) {
    const text = event.values[name] ?? "";
    if (text !== "") record[name] = type === "string" ? text : plain(text);
  }
  return record;
}

// A number, true, false, a list, an object; else a text, of which the studio says what is wrong with it.
function plain(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
