// Elements. Texts become text nodes: there is no way here to make markup of them.

export type Child = Node | string | number | null | undefined | false;
type Handlers = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };

export interface Parts {
  class?: string;
  id?: string;
  title?: string;
  on?: Handlers;
  // Attributes; false and null leave one out.
  with?: Record<string, string | number | boolean | null>;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  parts: Parts = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (parts.class) made.className = parts.class;
  if (parts.id) made.id = parts.id;
  if (parts.title) made.title = parts.title;
  for (const [name, value] of Object.entries(parts.with ?? {})) {
    if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const [name, handler] of Object.entries(parts.on ?? {})) {
    made.addEventListener(name, handler as EventListener);
  }
  made.append(...nodes(children));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number> = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...nodes(children));
  return made;
}

export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...nodes(children));
}

function nodes(children: Child[]): (Node | string)[] {
  return children
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

export function button(text: string, act: () => void, parts: Parts = {}): HTMLButtonElement {
  return el("button", { ...parts, with: { type: "button", ...parts.with }, on: { click: act, ...parts.on } }, text);
}

// `1 event`, `2,000 events`.
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

// Keys that move between the tabs of a list, as people who do without a mouse expect.
export function arrowsBetween(list: HTMLElement): void {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const tabs = [...list.querySelectorAll<HTMLElement>('[role="tab"]')];
    const at = tabs.indexOf(document.activeElement as HTMLElement);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next?.focus();
    next?.click();
    event.preventDefault();
  });
}
