// Events as lines, and a button that plays them.
import { button, Child, el } from "../dom";
import { Told } from "../lanes";
import { Studio } from "../studio";
import { when } from "../zone";

export function eventLine(event: Told): HTMLElement {
  const values: Child[] = event.values.map(([name, value]) => el("span", { class: "value" }, el("span", { class: "muted" }, `${name} `), value));
  return el("div", { class: "line" }, el("span", { class: `event ${event.kind}` }, event.type), when(event.time, "muted"), ...values);
}

// Runs the program over events in Try it, where the keyboard then is, too.
export function play(studio: Studio, lines: string[], title: string): void {
  studio.playEvents(lines, title);
  document.getElementById("tab-try")?.focus();
}

export function playButton(studio: Studio, lines: string[], title: string): HTMLElement {
  return button("Play it", () => play(studio, lines, title), { class: "play", title: "Run the program over these events in Try it" });
}

let last = 0;

// A field with its name before it, and what it is counted in behind it.
export function field(name: string, input: HTMLInputElement | HTMLSelectElement, unit = ""): HTMLElement {
  input.id ||= `evidence-${++last}`;
  return el("span", { class: "field" }, el("label", { with: { for: input.id } }, name), input, unit && el("span", { class: "muted" }, unit));
}

export function numberField(value: string, attributes: Record<string, string | number | boolean> = {}): HTMLInputElement {
  return el("input", { with: { type: "number", value, required: true, ...attributes } });
}

export function textField(value: string, size: number, placeholder = ""): HTMLInputElement {
  return el("input", { with: { value, size, placeholder, spellcheck: "false", autocomplete: "off" } });
}
