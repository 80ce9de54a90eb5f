// The time zone in which times are shown. What is typed, asked and saved stays UTC.
import { el, fill } from "./dom";

const KEY = "cepheid-zone";
const UTC = "UTC";
const LOCAL = Intl.DateTimeFormat().resolvedOptions().timeZone;
const SECOND = 1e6;
const DAY = 86400;

let zone = read();
let clock = clockOf(zone);
const listeners: (() => void)[] = [];

function read(): string {
  const found = localStorage.getItem(KEY) ?? UTC;
  return [UTC, LOCAL, ...Intl.supportedValuesOf("timeZone")].includes(found) ? found : UTC;
}

function clockOf(name: string): Intl.DateTimeFormat {
  const parts = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;
  return new Intl.DateTimeFormat("en-GB", { timeZone: name, hourCycle: "h23", ...parts });
}

export function onZone(act: () => void): void {
  listeners.push(act);
}

// Seconds by which the clocks of the zone are ahead of UTC at an instant, in seconds since 1970.
function aheadAt(seconds: number): number {
  if (zone === UTC) return 0;
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return 0;
  const parts = Object.fromEntries(clock.formatToParts(date).map(({ type, value }) => [type, value]));
  const year = (parts["year"] ?? "").padStart(4, "0");
  const shown = Date.parse(`${year}-${parts["month"]}-${parts["day"]}T${parts["hour"]}:${parts["minute"]}:${parts["second"]}Z`);
  return Number.isNaN(shown) ? 0 : Math.round(shown / 1000) - Math.floor(seconds);
}

// Microseconds by which the clocks of the zone are ahead of UTC, at microseconds since 1970.
export function ahead(micros: number): number {
  return aheadAt(Math.floor(micros / SECOND)) * SECOND;
}

// An instant as the studio writes it, `2026-01-31T12:00:00.5Z`, in the zone.
export function shownTime(text: string): string {
  const [, whole, fraction] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z$/.exec(text) ?? [];
  if (zone === UTC || !whole) return text;
  const seconds = Date.parse(`${whole}Z`) / 1000;
  const by = aheadAt(seconds);
  const date = new Date((seconds + by) * 1000);
  if (Number.isNaN(date.getTime())) return text;
  const minutes = Math.round(Math.abs(by) / 60) % (DAY / 60);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${date.toISOString().slice(0, 19)}${fraction ?? ""}${by < 0 ? "−" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

// An element that shows an instant, and changes with the zone.
export function when(text: string, kind = ""): HTMLElement {
  return el("time", { class: kind, with: { datetime: text } }, shownTime(text));
}

export function zoneSelect(): HTMLElement {
  const named = Intl.supportedValuesOf("timeZone").filter((name) => name !== UTC && name !== LOCAL);
  const option = (value: string, text = value) => el("option", { with: { value } }, text);
  const select = el("select", { class: "zone", title: "Time zone of the times that are shown", with: { "aria-label": "Time zone" } });
  fill(select, option(UTC), LOCAL !== UTC && option(LOCAL, `local: ${LOCAL}`), ...named.map((name) => option(name)));
  select.value = zone;
  select.addEventListener("change", () => {
    zone = select.value;
    clock = clockOf(zone);
    localStorage.setItem(KEY, zone);
    for (const each of document.querySelectorAll("time[datetime]")) each.textContent = shownTime(each.getAttribute("datetime") ?? "");
    for (const act of listeners) act();
  });
  return select;
}
