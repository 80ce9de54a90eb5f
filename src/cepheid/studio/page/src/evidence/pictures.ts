// Pictures of counts: in how many runs there were so many, and how the mean settles.
import { svg } from "../dom";

export interface Bars {
  first: number; // the least count of the first bar
  step: number; // how many counts a bar stands for
  heights: number[];
}

export interface Means {
  runs: number[];
  mean: number[];
  low: number[];
  high: number[];
}

const WIDTH = 260;
const HEIGHT = 130;
const LEFT = 40; // room for numbers
const BELOW = 32;
const TOP = 8;

export function short(value: number): string {
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}

function frame(said: string, across: string, top: string, left: string, right: string, ...inside: SVGElement[]): SVGElement {
  const bottom = HEIGHT - BELOW;
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": said },
    svg("line", { class: "axis", x1: LEFT, x2: WIDTH - 4, y1: bottom, y2: bottom }),
    svg("text", { x: LEFT - 4, y: TOP + 8, "text-anchor": "end" }, top),
    svg("text", { x: LEFT - 4, y: bottom, "text-anchor": "end" }, "0"),
    svg("text", { x: LEFT, y: bottom + 13 }, left),
    svg("text", { x: WIDTH - 4, y: bottom + 13, "text-anchor": "end" }, right),
    svg("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 3, "text-anchor": "middle" }, across),
    ...inside,
  );
}

export function histogram(name: string, { first, step, heights }: Bars, mean: number): SVGElement {
  const most = Math.max(...heights, 1);
  const bottom = HEIGHT - BELOW;
  const width = (WIDTH - 4 - LEFT) / heights.length;
  const bars = heights.map((count, at) => {
    const height = ((bottom - TOP) * count) / most;
    const from = first + at * step;
    const counts = step === 1 ? `${from}` : `${from} to ${from + step - 1}`;
    const bar = { class: "bar-of", x: LEFT + at * width, y: bottom - height, width: Math.max(width - 1, 0.5), height };
    return svg("rect", bar, svg("title", {}, `${counts} of ${name}: ${count} runs`));
  });
  const last = first + heights.length * step - 1;
  const x = LEFT + ((mean - first + 0.5) / (heights.length * step)) * (WIDTH - 4 - LEFT);
  const line = svg("line", { class: "mean-line", x1: x, x2: x, y1: TOP, y2: bottom }, svg("title", {}, `mean ${short(mean)}`));
  const said = `${name}: ${short(mean)} in a run on average, from ${first} to ${last}`;
  return frame(said, `${name} in a run`, most.toLocaleString("en"), first.toLocaleString("en"), last.toLocaleString("en"), ...bars, line);
}

export function settling(name: string, { runs, mean, low, high }: Means): SVGElement {
  const most = Math.max(...high) || 1;
  const last = runs.at(-1) ?? 1;
  const bottom = HEIGHT - BELOW;
  const x = (run: number) => LEFT + ((run - 1) / Math.max(last - 1, 1)) * (WIDTH - 4 - LEFT);
  const y = (value: number) => bottom - ((bottom - TOP) * value) / most;
  const points = (values: number[]) => values.map((value, at) => `${x(runs[at] ?? 1).toFixed(1)},${y(value).toFixed(1)}`);
  const area = [...points(high), ...points(low).reverse()].join(" ");
  const end = mean.at(-1) ?? 0;
  return frame(
    `The mean of ${name} after 1 to ${last} runs: at last ${short(end)}, between ${short(low.at(-1) ?? 0)} and ${short(high.at(-1) ?? 0)}`,
    "mean after so many runs",
    short(most),
    "1",
    last.toLocaleString("en"),
    svg("polygon", { class: "reach", points: area }),
    svg("polyline", { class: "curve", points: points(mean).join(" ") }),
  );
}

// Where a probability lies, on a line from 0 to 1; a bound is a mark on it.
export function interval(low: number, estimate: number, high: number, bound: number): SVGElement {
  const width = 260;
  const at = (share: number) => 27 + share * (width - 66);
  const percent = (share: number) => `${Number((100 * share).toPrecision(3))} %`;
  return svg(
    "svg",
    { class: "interval", viewBox: `0 0 ${width} 18`, role: "img", "aria-label": `Between ${percent(low)} and ${percent(high)}, ${percent(estimate)} in these runs` },
    svg("text", { x: at(0) - 7, y: 13, "text-anchor": "end" }, "0 %"),
    svg("text", { x: at(1) + 7, y: 13 }, "100 %"),
    svg("line", { class: "axis", x1: at(0), x2: at(1), y1: 9, y2: 9 }),
    svg("rect", { class: "reach", x: at(low), y: 4, width: Math.max(at(high) - at(low), 1), height: 10 }),
    svg("circle", { class: "dot", cx: at(estimate), cy: 9, r: 4 }),
    ...(bound > 0 ? [svg("line", { class: "mean-line", x1: at(bound), x2: at(bound), y1: 1, y2: 17 }, svg("title", {}, `the bound, ${percent(bound)}`))] : []),
  );
}
