// A run as the page knows it.
import { Finding } from "./talk";

export interface Lane {
  type: string;
  kind: "in" | "out";
  count: number;
  times: number[]; // microseconds after the start, ascending
  columns: string[];
}

export interface RunAnswer {
  run: number;
  start: number; // microseconds since 1970
  lanes: Lane[];
  statements: string[];
  without: string[];
  taken: number;
  rows: number;
  notes: Finding[];
  skipped: number;
  problems: Finding[];
}

// An event on the timeline.
export interface Spot {
  lane: number;
  index: number;
}

// An event with what it says, and its place on the timeline, if it has one.
export interface Told {
  type: string;
  time: string;
  kind: "in" | "out";
  index: number | null;
  values: [string, string][];
}

export interface Node extends Told {
  depth: number;
  cut: boolean;
}

// A line from an event to one behind it.
export interface Link {
  from: Spot;
  to: Spot;
}

// What a lane is called: its type, and where others of that type are derived, that these came in.
export function nameOf(lane: Lane, lanes: Lane[]): string {
  const isBoth = lane.kind === "in" && lanes.some((other) => other !== lane && other.type === lane.type);
  return isBoth ? `${lane.type} (came in)` : lane.type;
}

// The first place whose time is not before this one.
export function lowerBound(times: number[], time: number, from = 0): number {
  let low = from;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function spotOf(lanes: Lane[], node: { kind: string; type: string; index: number | null }): Spot | null {
  if (node.index === null) return null;
  const lane = lanes.findIndex((each) => each.kind === node.kind && each.type === node.type);
  return lane < 0 ? null : { lane, index: node.index };
}

// The lines of a tree, which comes as a list: what is behind an event follows it, one deeper.
export function linksOf(lanes: Lane[], row: Spot, tree: Node[]): Link[] {
  const links: Link[] = [];
  const path: (Spot | null)[] = [row];
  for (const node of tree) {
    const spot = spotOf(lanes, node);
    path.length = node.depth;
    const parent = path.at(-1);
    if (parent && spot) links.push({ from: parent, to: spot });
    path.push(spot);
  }
  return links;
}

// An instant as the studio writes it, from microseconds since 1970.
export function timeOf(micros: number): string {
  const seconds = Math.floor(micros / 1e6);
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "";
  const rest = micros - seconds * 1e6;
  const fraction = rest ? `.${String(rest).padStart(6, "0").replace(/0+$/, "")}` : "";
  return `${date.toISOString().slice(0, -5)}${fraction}Z`;
}

// Microseconds since 1970 of an instant as the studio writes it; NaN for other texts.
export function microsOf(text: string): number {
  const [, whole, fraction] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z$/.exec(text) ?? [];
  return whole ? Date.parse(`${whole}Z`) * 1000 + Number((fraction ?? "").padEnd(6, "0")) : NaN;
}
