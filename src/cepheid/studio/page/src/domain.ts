// The domain: event types as forms. What is changed in a form becomes edits of the text at once.
import { button, el, fill } from "./dom";
import { historyKeys } from "./history";
import { Studio } from "./studio";
import { NoAnswer, TextEdit } from "./talk";

interface Attribute {
  name: string;
  type: string; // as it is written
}

interface Form {
  name: string;
  icon: string;
  description: string;
  attributes: Attribute[];
  inherits: string[];
  time: { attribute: string; unit: string } | null;
  statement: string | null; // by which it is made, where no schema declares it
}

interface Told {
  types: Form[];
  writable: boolean;
  scalars: string[];
  units: string[];
}

type Change = (form: Form) => Partial<Form>;

const SETTLED = 400; // milliseconds without another choice
const WAIT = 150; // milliseconds without a change of the text
const ICONS = [..."♥★⚠⚙☀☂☎✉⚑✚⌂♪", "🚗", "🏍️", "🤰", "👤", "🌡️", "💧", "🔥", "⚡", "🏭", "📦", "💳", "🔔", "⏱️"];
const WORDS: Record<string, string> = {
  string: "text",
  boolean: "true or false",
  int: "whole number",
  long: "large whole number",
  float: "number, 7 digits",
  double: "number",
  timestamp: "point in time",
  date: "day",
};

export function domainView(studio: Studio): HTMLElement {
  return new Domain(studio).element;
}

class Domain {
  readonly element: HTMLElement;
  private note = el("p", { class: "summary said", with: { role: "status" } });
  private list = el("ul", { class: "type-list", with: { "aria-label": "Event types" } });
  private ground = el("div", { class: "type" });
  private told: Told = { types: [], writable: true, scalars: [], units: [] };
  private chosen = "";
  private fresh = false; // the form of a type that the text does not have yet
  private draft: Attribute | null = null; // a line for a property that the text does not have yet
  private queue: Promise<void> = Promise.resolve();
  private hasIcons = false; // the choice of them is open
  private timer = 0;

  constructor(private studio: Studio) {
    this.element = el(
      "div",
      { class: "domain" },
      el("div", { class: "bar" }, button("New type", () => this.begin())),
      this.note,
      el("div", { class: "domain-ground" }, this.list, this.ground),
    );
    historyKeys(this.element, studio);
    studio.on("opened", () => {
      this.chosen = "";
      this.fresh = false;
      this.draft = null;
      void this.look();
    });
    studio.on("text", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.look(), WAIT);
    });
    studio.on("graph", () => this.told.types.some((each) => each.name === this.chosen && each.statement !== null) && this.show());
    new ResizeObserver(() => void this.look()).observe(this.element);
  }

  private async ask(): Promise<Told | null> {
    const { open } = this.studio;
    if (!open) return null;
    const { text } = open;
    const told = await this.studio.talk.ask<Told>("types", { file: open.name, text });
    return this.studio.open === open && open.text === text ? told : null;
  }

  private async look(): Promise<void> {
    if (this.element.clientWidth === 0) return;
    try {
      this.told = (await this.ask()) ?? this.told;
      const known = this.told.types.find((each) => each.name === this.chosen)?.attributes ?? [];
      if (known.some((each) => each.name === this.draft?.name)) this.draft = null;
      this.show();
    } catch (problem) {
      this.say(problem as NoAnswer);
    }
  }

  private say(problem: NoAnswer | null): void {
    if (problem?.isStopped) return;
    this.note.title = problem?.message ?? "";
    fill(this.note, this.note.title);
  }

  private begin(): void {
    this.chosen = "";
    this.fresh = true;
    this.draft = null;
    this.show();
    this.ground.querySelector<HTMLInputElement>("#type-name")?.focus();
  }

  // Changes are made one after the other, each of the text that the last one left.
  private change(change: Change, isNew = this.fresh): void {
    const name = this.chosen;
    this.queue = this.queue.then(() => this.write(isNew ? null : name, change)).catch(() => undefined);
  }

  private async write(name: string | null, change: Change): Promise<void> {
    const { studio } = this;
    try {
      const told = await this.ask();
      const old = name === null ? EMPTY : told?.types.find((each) => each.name === name);
      const { open } = studio;
      if (!told || !old || !open) return;
      const form = { ...old, ...change(old) };
      const asked = open.text;
      const { edits } = await studio.talk.ask<{ edits: TextEdit[] }>("draw-type", {
        texts: studio.texts(),
        file: open.name,
        name,
        form: [{ ...form, time: form.time ? [form.time] : [] }],
      });
      const other = edits.find((edit) => edit.file !== open.name);
      if (other) throw new NoAnswer([{ message: `It stands in ${other.file} as well, and only the open file can be changed here` } as never]);
      this.fresh = false;
      this.chosen = form.name;
      this.say(null);
      studio.change(edits, asked);
      clearTimeout(this.timer);
      await this.look();
    } catch (problem) {
      this.say(problem as NoAnswer);
      this.show();
    }
  }

  private async remove(): Promise<void> {
    const { open } = this.studio;
    if (!open) return;
    const asked = open.text;
    try {
      const { edits } = await this.studio.talk.ask<{ edits: TextEdit[] }>("draw-blocks", {
        file: open.name,
        text: asked,
        key: `Schema ${this.chosen} 1`,
        block: null,
      });
      this.chosen = "";
      this.studio.change(edits, asked);
    } catch (problem) {
      this.say(problem as NoAnswer);
    }
  }

  // What is shown.

  private show(): void {
    if (this.ground.querySelector("[data-held]")) return; // someone is choosing; then it is shown anyway
    const { types, writable } = this.told;
    if (!this.fresh && !types.some((each) => each.name === this.chosen)) this.chosen = types[0]?.name ?? "";
    const typed = typedNow(this.element);
    isShowing = true;
    this.showList(types);
    const form = this.fresh ? EMPTY : types.find((each) => each.name === this.chosen);
    fill(this.ground, ...(form ? this.form(form, writable) : [el("p", { class: "empty" }, emptyNote(writable))]));
    isShowing = false;
    restore(this.element, typed);
  }

  // Only anew where it says something else: a button that is replaced while it is pressed hears no click.
  private showList(types: Form[]): void {
    const said = JSON.stringify([this.fresh || this.chosen, types.map(({ name, icon, statement }) => [name, icon, statement])]);
    if (this.list.dataset.said === said) return;
    this.list.dataset.said = said;
    fill(
      this.list,
      ...types.map((each) =>
        el(
          "li",
          {},
          el(
            "button",
            {
              id: `type-of-${each.name}`,
              with: { type: "button", "aria-current": each.name === this.chosen && !this.fresh ? "true" : null },
              on: { click: () => this.choose(each.name) },
            },
            el("span", { class: "icon", with: { "aria-hidden": "true" } }, each.icon || "◆"),
            el("span", {}, each.name),
            each.statement !== null && el("span", { class: "muted", title: "A statement makes these events" }, "made"),
          ),
        ),
      ),
    );
  }

  private choose(name: string): void {
    this.chosen = name;
    this.fresh = false;
    this.draft = null;
    this.say(null);
    this.show();
  }

  private form(form: Form, isWritable: boolean): HTMLElement[] {
    const isDeclared = form.statement === null;
    const icons = el(
      "details",
      { class: "icons", with: { open: this.hasIcons } },
      el("summary", {}, "Choose"),
      ...ICONS.map((icon) => button(icon, () => this.change(() => ({ icon })), { with: { "aria-label": `Icon ${icon}` } })),
    );
    icons.addEventListener("toggle", () => (this.hasIcons = icons.open));
    const look = el(
      "div",
      { class: "fields" },
      field("type-name", "Name", form.name, (name) => this.change(() => ({ name }))),
      field("type-icon", "Icon", form.icon, (icon) => this.change(() => ({ icon })), { size: 4, maxlength: 8 }),
      icons,
      field("type-about", "Description", form.description, (description) => this.change(() => ({ description })), { size: 40, class: "wide" }),
    );
    const parts = isDeclared && !(this.fresh && !form.name) ? this.declared(form) : isDeclared ? [] : [this.made(form)];
    const all = el("fieldset", { with: { disabled: !isWritable, "aria-label": form.name || "A new type" } }, look, ...parts);
    return [all];
  }

  // What a schema says of its type.
  private declared(form: Form): HTMLElement[] {
    const lines = [...form.attributes, ...(this.draft ? [this.draft] : [])];
    const others = this.told.types.filter((each) => each.name !== form.name && each.statement === null);
    const add = button("Add property", () => this.addProperty(form.attributes.length));
    const remove = button("Remove type", () => void this.remove(), { class: "quiet", title: "Take the type out of the text" });
    return [
      el(
        "table",
        { class: "properties" },
        el("thead", {}, el("tr", {}, ...["Property", "What it is", "List", ""].map((head) => el("th", { with: { scope: "col" } }, head)))),
        el("tbody", {}, ...lines.map((each, number) => this.line(form, each, number))),
      ),
      el("div", { class: "bar" }, add),
      this.time(form),
      ...(others.length ? [this.parents(form, others.map((each) => each.name))] : []),
      el("div", { class: "bar" }, remove),
    ];
  }

  private addProperty(number: number): void {
    this.draft = { name: "", type: "string" };
    this.show();
    document.getElementById(`property-${number}-name`)?.focus();
  }

  private line(form: Form, attribute: Attribute, number: number): HTMLElement {
    const isDraft = number === form.attributes.length;
    const isList = attribute.type.endsWith("[]");
    const element = isList ? attribute.type.slice(0, -2) : attribute.type;
    const put = (part: Partial<Attribute>) =>
      this.change(({ attributes }) => ({ attributes: attributes.map((each, at) => (at === number ? { ...each, ...part } : each)) }));
    const id = (part: string) => `property-${number}-${part}`;
    const name = (text: string) => {
      if (!isDraft) return put({ name: text });
      if (!text.trim()) return;
      attribute.name = text;
      this.change(({ attributes }) => ({ attributes: [...attributes, { ...attribute }] }));
    };
    const choice = select(id("type"), `Type of ${attribute.name || "the property"}`, element, this.kinds(element), (type) => {
      const isTold = !isDraft || attribute.name !== "";
      if (isTold) put({ type: isList ? `${type}[]` : type });
      else attribute.type = type;
    });
    const list = el("input", { id: id("list"), with: { type: "checkbox", checked: isList, disabled: isDraft, "aria-label": `${attribute.name} is a list` } });
    list.addEventListener("change", () => put({ type: list.checked ? `${element}[]` : element }));
    const drop = () => {
      if (isDraft) {
        this.draft = null;
        this.show();
      } else this.change(({ attributes }) => ({ attributes: attributes.filter((_, at) => at !== number) }));
    };
    return el(
      "tr",
      {},
      el("td", {}, textField(id("name"), attribute.name, name, { "aria-label": "Name of the property" })),
      el("td", {}, choice),
      el("td", {}, list),
      el("td", {}, button("✕", drop, { class: "quiet", title: "Remove this property", with: { "aria-label": `Remove ${attribute.name || "the property"}` } })),
    );
  }

  // Types of values, and other events, which are then in this one.
  private kinds(now: string): [string, string][] {
    const { scalars, types } = this.told;
    const plain = scalars.map((name): [string, string] => [name, WORDS[name] ? `${WORDS[name]} (${name})` : name]);
    const events = types.filter((each) => each.statement === null && each.name !== this.chosen).map((each): [string, string] => [each.name, `${each.icon} ${each.name}`]);
    const all: [string, string][] = [...plain, ["decimal(12, 2)", "exact number (decimal(12, 2))"], ...events];
    return all.some(([name]) => name === now) ? all : [...all, [now, now]];
  }

  private time(form: Form): HTMLElement {
    const { time } = form;
    const names: [string, string][] = [["", "in no property"], ...form.attributes.map((each): [string, string] => [each.name, each.name])];
    const unit = time?.unit ?? "seconds";
    return el(
      "div",
      { class: "fields" },
      labelled("Its time is", select("type-time", "", time?.attribute ?? "", names, (attribute) => this.change(() => ({ time: attribute ? { attribute, unit } : null })))),
      time &&
        labelled(
          "counted in",
          select("type-unit", "", unit, this.told.units.map((each) => [each, each]), (chosen) => this.change(() => ({ time: { ...time, unit: chosen } }))),
        ),
    );
  }

  private parents(form: Form, names: string[]): HTMLElement {
    const box = (name: string) => {
      const input = el("input", { id: `parent-${name}`, with: { type: "checkbox", checked: form.inherits.includes(name) } });
      input.addEventListener("change", () =>
        this.change(({ inherits }) => ({ inherits: input.checked ? [...inherits, name] : inherits.filter((each) => each !== name) })),
      );
      return el("label", {}, input, ` ${name}`);
    };
    return el("div", { class: "fields parents", with: { role: "group", "aria-label": "It is also a" } }, el("span", { class: "muted" }, "It is also a"), ...names.map(box));
  }

  private made(form: Form): HTMLElement {
    const properties = this.studio.drawn?.types[form.name] ?? [];
    return el(
      "div",
      {},
      el("p", { class: "hint" }, "A statement makes these events; their properties are what it selects."),
      el("ul", { class: "made" }, ...properties.map((each) => el("li", {}, el("strong", {}, each.name), ` ${WORDS[each.type] ?? each.type}`))),
    );
  }
}

const EMPTY: Form = { name: "", icon: "", description: "", attributes: [], inherits: [], time: null, statement: null };

function emptyNote(isWritable: boolean): string {
  return isWritable ? "There are no event types yet: say with “New type” what happens, and what is known of it." : "Event types of this program have their place in the text.";
}

// Fields. What is in them is told when it is done; what the text says of them is in `data-told`.

let isShowing = false; // what loses the focus then is not done yet

type More = Record<string, string | number | boolean | null>;

function textField(id: string, value: string, take: (text: string) => void, more: More = {}): HTMLInputElement {
  const input = el("input", { id, with: { value, spellcheck: "false", autocomplete: "off", "data-told": value, size: 14, ...more } });
  let last = value;
  const tell = () => {
    if (input.value === last || !input.isConnected || isShowing) return;
    last = input.value;
    take(last);
  };
  // No "change": it is not heard of what was typed before the form was shown anew.
  input.addEventListener("blur", tell);
  input.addEventListener("keydown", (event) => event.key === "Enter" && tell());
  return input;
}

function field(id: string, name: string, value: string, take: (text: string) => void, more: More = {}): HTMLElement {
  return labelled(name, textField(id, value, take, more));
}

function labelled(name: string, inner: HTMLElement): HTMLElement {
  return el("label", { class: inner.className }, el("span", {}, name), inner);
}

function select(id: string, label: string, value: string, options: [string, string][], take: (chosen: string) => void): HTMLSelectElement {
  const made = el("select", { id, with: { "aria-label": label || null } }, ...options.map(([name, title]) => el("option", { with: { value: name } }, title)));
  made.value = value;
  let timer = 0;
  const tell = () => {
    clearTimeout(timer);
    if (!made.dataset.held) return;
    delete made.dataset.held;
    take(made.value);
  };
  // By keys, each letter is a change: what is meant is known when no more follow.
  made.addEventListener("change", () => {
    made.dataset.held = "true";
    clearTimeout(timer);
    timer = window.setTimeout(tell, SETTLED);
  });
  made.addEventListener("blur", tell);
  return made;
}

// What someone is typing while the form is shown anew.
interface Typed {
  id: string;
  value: string | null; // null: nothing that is not told
  start: number | null;
  end: number | null;
}

function typedNow(within: HTMLElement): Typed | null {
  const now = document.activeElement as HTMLInputElement | null;
  if (!now?.id || !within.contains(now)) return null;
  const isText = now.tagName === "INPUT" && now.dataset.told !== undefined;
  const isTyped = isText && now.value !== now.dataset.told;
  return { id: now.id, value: isTyped ? now.value : null, start: isText ? now.selectionStart : null, end: isText ? now.selectionEnd : null };
}

function restore(within: HTMLElement, typed: Typed | null): void {
  const now = typed && (document.getElementById(typed.id) as HTMLInputElement | null);
  if (!typed || !now || !within.contains(now)) return;
  now.focus();
  if (typed.value !== null) now.value = typed.value;
  if (typed.start !== null && now.tagName === "INPUT") now.setSelectionRange(typed.start, typed.end);
}
