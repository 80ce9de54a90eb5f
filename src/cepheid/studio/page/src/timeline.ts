// Events as lanes over time. Only what can be seen is drawn: in each column of pixels, one mark at most.
import { el } from "./dom";
import { Lane, Link, lowerBound, nameOf, Spot, timeOf } from "./lanes";
import { ahead, onZone, shownTime } from "./zone";

const ROW = 30;
const AXIS = 24;
const LABELS = 132;
const PAD = 14;
const NEAR = 8; // pixels from a mark that still mean it

const SECOND = 1e6;
const STEPS = [
  ...[1, 10, 100, 1e3, 1e4, 1e5].flatMap((base) => [base, 2 * base, 5 * base]),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map((n) => n * SECOND),
  ...[2, 7, 14, 30, 90, 365, 1825, 3650, 36500].map((n) => n * 86400 * SECOND),
];

// Who moves events to other times, adds others like them, or takes them away.
export interface Mover {
  can(lane: Lane): boolean;
  move(spot: Spot, micros: number): void;
  add(lane: Lane, micros: number): void;
  remove(spot: Spot): void;
}

// An event on its way to another time, by the mouse or by keys.
interface Moving {
  spot: Spot;
  time: number; // microseconds after the start
  isByKey: boolean;
}

export class Timeline {
  readonly element: HTMLElement;
  private canvas = el("canvas", {
    class: "timeline",
    with: {
      tabindex: 0,
      role: "application",
      "aria-label":
        "Timeline. Arrow keys move between events, plus and minus zoom, zero shows all. M takes an event that came in: arrows change its time, Enter puts it down. Insert adds another one, Delete removes it.",
    },
  });
  private spoken = el("p", { class: "unseen", with: { role: "status" } });
  private lanes: Lane[] = [];
  private start = 0;
  private from = 0;
  private to = 1;
  private all: [number, number] = [0, 1];
  private chosen: Spot | null = null;
  private links: Link[] = [];
  private isWaiting = false;
  private drag: { x: number; from: number; moved: boolean; spot: Spot | null } | null = null;
  private moving: Moving | null = null;

  constructor(private choose: (spot: Spot) => void, private mover: Mover) {
    onZone(() => this.ask());
    this.element = el("div", { class: "timeline-ground" }, this.canvas, this.spoken);
    new ResizeObserver(() => this.ask()).observe(this.element);
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", (event) => this.release(event));
    this.canvas.addEventListener("dblclick", (event) => this.addAt(event.offsetX, event.offsetY));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("blur", () => this.letGo());
    window.addEventListener("resize", () => this.ask()); // which the choice of colours tells, too
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.ask());
  }

  show(start: number, lanes: Lane[]): void {
    this.lanes = lanes;
    this.start = start;
    const last = Math.max(0, ...lanes.map((lane) => lane.times.at(-1) ?? 0));
    const first = Math.min(last, ...lanes.map((lane) => lane.times[0] ?? last));
    const room = Math.max(1, (last - first) * 0.02);
    this.all = [first - room, last + room];
    this.chosen = null;
    this.moving = null;
    this.drag = null;
    this.links = [];
    this.fit();
  }

  // A match and the lines to what is behind it; it is brought into view.
  mark(spot: Spot | null, links: Link[]): void {
    this.chosen = spot;
    this.links = links;
    const times = [spot, ...links.map((link) => link.to)].flatMap((each) => (each ? [this.timeOf(each)] : []));
    const [low, high] = [Math.min(...times), Math.max(...times)];
    const span = this.to - this.from;
    if (high > low && (high - low > span || (high - low) * 12 < span)) {
      const room = (high - low) * 0.8; // so that the lines can be told apart
      [this.from, this.to] = [low - room, high + room];
    } else if (times.length && (low < this.from || high > this.to)) {
      this.from = (low + high - span) / 2;
      this.to = this.from + span;
    }
    this.ask();
  }

  fit(): void {
    [this.from, this.to] = this.all;
    this.ask();
  }

  // Changes colours when the page does.
  ask(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  private timeOf(spot: Spot): number {
    return this.lanes[spot.lane]?.times[spot.index] ?? 0;
  }

  private get width(): number {
    return Math.max(1, this.element.clientWidth - LABELS - PAD);
  }

  private x(time: number): number {
    return LABELS + ((time - this.from) / (this.to - this.from)) * this.width;
  }

  private y(lane: number): number {
    return AXIS + lane * ROW + ROW / 2;
  }

  private draw(): void {
    const scale = window.devicePixelRatio || 1;
    const width = this.element.clientWidth;
    const height = AXIS + this.lanes.length * ROW + 4;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d");
    if (!context || !width) return;
    const style = getComputedStyle(this.element);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = `12px ${colour("--font")}`;
    context.textBaseline = "middle";
    if (this.lanes.some((lane) => lane.times.length > 0)) this.drawAxis(context, colour, height);
    this.lanes.forEach((lane, number) => this.drawLane(context, colour, lane, number, width));
    this.drawLinks(context, colour);
    if (this.moving) this.drawMoving(context, colour, this.moving);
  }

  private drawAxis(context: CanvasRenderingContext2D, colour: (name: string) => string, height: number): void {
    const fine = ((this.to - this.from) / this.width) * 96;
    const step = STEPS.find((each) => each >= fine) ?? (STEPS.at(-1) as number);
    const base = this.start + ahead(this.start + Math.round(this.from)); // as clocks of the zone show it
    const first = Math.ceil((base + this.from) / step) * step;
    context.fillStyle = colour("--muted");
    context.strokeStyle = colour("--line");
    context.textAlign = "center";
    context.lineWidth = 1;
    for (let time = first; time <= base + this.to; time += step) {
      const x = Math.round(this.x(time - base)) + 0.5;
      context.beginPath();
      context.moveTo(x, AXIS - 4);
      context.lineTo(x, height);
      context.stroke();
      context.fillText(timeText(time, step), Math.min(Math.max(x, LABELS + 20), LABELS + this.width + PAD - 30), AXIS / 2 - 1);
    }
  }

  private drawLane(
    context: CanvasRenderingContext2D,
    colour: (name: string) => string,
    lane: Lane,
    number: number,
    width: number,
  ): void {
    const y = this.y(number);
    context.strokeStyle = colour("--line");
    context.beginPath();
    context.moveTo(0, y + ROW / 2 - 0.5);
    context.lineTo(width, y + ROW / 2 - 0.5);
    context.stroke();
    context.textAlign = "left";
    context.fillStyle = colour(lane.kind === "in" ? "--muted" : "--text");
    context.fillText(cut(context, nameOf(lane, this.lanes), LABELS - 20), 8, y);
    context.fillStyle = colour(lane.kind === "in" ? "--event" : "--match");
    const { times } = lane;
    const pixel = (this.to - this.from) / this.width;
    let at = lowerBound(times, this.from);
    while (at < times.length && (times[at] as number) <= this.to) {
      const x = this.x(times[at] as number);
      const next = lowerBound(times, (times[at] as number) + Math.max(pixel * 1.5, 1e-9), at + 1);
      const size = Math.min(ROW - 8, 9 + 3 * Math.log2(next - at));
      if (lane.kind === "out" && next - at === 1) {
        context.beginPath();
        context.arc(x, y, 4.5, 0, 7);
        context.fill();
      } else context.fillRect(x - 1, y - size / 2, 2, size);
      at = next;
    }
  }

  private drawLinks(context: CanvasRenderingContext2D, colour: (name: string) => string): void {
    context.save();
    context.beginPath();
    context.rect(LABELS - 6, 0, this.width + PAD + 6, AXIS + this.lanes.length * ROW + 4);
    context.clip();
    context.strokeStyle = colour("--accent");
    context.lineWidth = 1.5;
    for (const { from, to } of this.links) {
      const [x1, y1] = [this.x(this.timeOf(from)), this.y(from.lane)];
      const [x2, y2] = [this.x(this.timeOf(to)), this.y(to.lane)];
      context.beginPath();
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1, (y1 + y2) / 2, x2, (y1 + y2) / 2, x2, y2);
      context.stroke();
      this.ring(context, colour, x2, y2, 5);
    }
    if (this.chosen) this.ring(context, colour, this.x(this.timeOf(this.chosen)), this.y(this.chosen.lane), 8);
    context.restore();
  }

  // Where it is on its way, with the time that it would have.
  private drawMoving(context: CanvasRenderingContext2D, colour: (name: string) => string, { spot, time }: Moving): void {
    const [x, y] = [this.x(time), this.y(spot.lane)];
    const text = shownTime(timeOf(this.start + time));
    const half = context.measureText(text).width / 2 + 6;
    const middle = Math.min(Math.max(x, LABELS + half), LABELS + this.width + PAD - half);
    const top = spot.lane === 0 ? y + 10 : y - ROW + 2;
    context.strokeStyle = colour("--accent");
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x, AXIS);
    context.lineTo(x, AXIS + this.lanes.length * ROW);
    context.stroke();
    context.setLineDash([]);
    this.ring(context, colour, x, y, 6);
    context.fillStyle = colour("--surface");
    context.fillRect(middle - half, top, 2 * half, 18);
    context.strokeRect(middle - half, top, 2 * half, 18);
    context.fillStyle = colour("--text");
    context.textAlign = "center";
    context.fillText(text, middle, top + 9);
  }

  private ring(context: CanvasRenderingContext2D, colour: (name: string) => string, x: number, y: number, radius: number): void {
    context.strokeStyle = colour("--accent");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.stroke();
  }

  // Mouse and keys.

  zoom(factor: number, x = LABELS + this.width / 2): void {
    const at = this.from + ((x - LABELS) / this.width) * (this.to - this.from);
    const most = (this.all[1] - this.all[0]) * 2;
    const span = Math.min(most, Math.max(20, (this.to - this.from) * factor));
    const share = (at - this.from) / (this.to - this.from);
    this.from = at - share * span;
    this.to = this.from + span;
    this.ask();
  }

  private wheel(event: WheelEvent): void {
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.pan((event.deltaX || event.deltaY) / this.width);
    } else if (event.ctrlKey || document.activeElement === this.canvas) {
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX);
    } else return; // the page scrolls
    event.preventDefault();
  }

  private pan(share: number): void {
    const step = share * (this.to - this.from);
    this.from += step;
    this.to += step;
    this.ask();
  }

  private press(event: PointerEvent): void {
    const spot = this.spotAt(event.offsetX, event.offsetY);
    const lane = spot && this.lanes[spot.lane];
    this.moving = null;
    this.drag = { x: event.offsetX, from: this.from, moved: false, spot: lane && this.mover.can(lane) ? spot : null };
    this.canvas.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent): void {
    if (!this.drag) {
      const spot = this.spotAt(event.offsetX, event.offsetY);
      const lane = spot && this.lanes[spot.lane];
      this.canvas.style.cursor = lane ? (this.mover.can(lane) ? "ew-resize" : "pointer") : "grab";
      return;
    }
    const by = event.offsetX - this.drag.x;
    if (Math.abs(by) > 3) this.drag.moved = true;
    if (!this.drag.moved) return;
    const span = this.to - this.from;
    const { spot } = this.drag;
    if (spot) {
      this.moving = { spot, time: this.even(this.timeOf(spot) + (by / this.width) * span, span / this.width), isByKey: false };
      this.ask();
      return;
    }
    this.from = this.drag.from - (by / this.width) * span;
    this.to = this.from + span;
    this.ask();
  }

  private release(event: PointerEvent): void {
    if (this.moving && !this.moving.isByKey) {
      this.putDown();
      return;
    }
    const isClick = this.drag !== null && !this.drag.moved;
    this.drag = null;
    const spot = isClick ? this.spotAt(event.offsetX, event.offsetY) : null;
    if (spot) this.take(spot);
  }

  // A time that can be said in few digits, near one.
  private even(time: number, near: number): number {
    const step = STEPS.find((each) => each >= near) ?? (STEPS.at(-1) as number);
    return Math.round((this.start + time) / step) * step - this.start;
  }

  private putDown(): void {
    const { moving } = this;
    this.moving = null;
    this.drag = null;
    this.ask();
    if (moving && moving.time !== this.timeOf(moving.spot)) this.mover.move(moving.spot, this.start + moving.time);
  }

  private letGo(): void {
    this.moving = null;
    this.drag = null;
    this.ask();
  }

  // An event of the lane, where there is none yet.
  private addAt(x: number, y: number): void {
    const lane = this.lanes[Math.floor((y - AXIS) / ROW)];
    if (!lane || x < LABELS || this.spotAt(x, y) || !this.mover.can(lane)) return;
    const span = this.to - this.from;
    this.mover.add(lane, this.start + this.even(this.from + ((x - LABELS) / this.width) * span, span / this.width));
  }

  private addBeside(spot: Spot | null): void {
    const lane = spot && this.lanes[spot.lane];
    if (lane && this.mover.can(lane)) this.mover.add(lane, this.start + this.timeOf(spot));
  }

  private takeUp(): void {
    const spot = this.chosen;
    const lane = spot && this.lanes[spot.lane];
    if (!lane || !this.mover.can(lane)) return this.say("Only events that came in can be moved, up to 2,000 of them.");
    this.moving = { spot, time: this.timeOf(spot), isByKey: true };
    this.say(`${lane.type} is taken: arrows change its time, Enter puts it down, Escape lets it be`);
    this.ask();
  }

  private shift(moving: Moving, steps: number): void {
    const near = (this.to - this.from) / 100;
    const step = STEPS.find((each) => each >= near) ?? (STEPS.at(-1) as number);
    moving.time = this.even(moving.time + steps * step, near);
    this.bring(moving.time);
    this.say(shownTime(timeOf(this.start + moving.time)));
    this.ask();
  }

  private say(text: string): void {
    this.spoken.textContent = text;
  }

  private bring(time: number): void {
    if (time < this.from || time > this.to) this.pan((time - (this.from + this.to) / 2) / (this.to - this.from));
  }

  private spotAt(x: number, y: number): Spot | null {
    const lane = Math.floor((y - AXIS) / ROW);
    const times = this.lanes[lane]?.times;
    if (!times?.length || x < LABELS - NEAR) return null;
    const time = this.from + ((x - LABELS) / this.width) * (this.to - this.from);
    const after = lowerBound(times, time);
    const near = [after - 1, after].filter((index) => index >= 0 && index < times.length);
    near.sort((a, b) => Math.abs((times[a] as number) - time) - Math.abs((times[b] as number) - time));
    const index = near[0];
    return index !== undefined && Math.abs(this.x(times[index] as number) - x) <= NEAR ? { lane, index } : null;
  }

  private take(spot: Spot): void {
    this.chosen = spot;
    this.links = [];
    const lane = this.lanes[spot.lane] as Lane;
    this.say(`${lane.type}, ${spot.index + 1} of ${lane.count}`);
    this.bring(this.timeOf(spot));
    this.ask();
    this.choose(spot);
  }

  private key(event: KeyboardEvent): void {
    const { moving } = this;
    const far = event.shiftKey ? 10 : 1;
    const onTheWay: Record<string, () => void> = {
      ArrowLeft: () => moving && this.shift(moving, -far),
      ArrowRight: () => moving && this.shift(moving, far),
      Enter: () => this.putDown(),
      m: () => this.putDown(),
      Escape: () => this.letGo(),
    };
    const acts: Record<string, () => void> = moving ? onTheWay : {
      m: () => this.takeUp(),
      Insert: () => this.addBeside(this.chosen),
      Delete: () => this.chosen && this.mover.can(this.lanes[this.chosen.lane] as Lane) && this.mover.remove(this.chosen),
      ArrowLeft: () => (event.shiftKey ? this.pan(-0.2) : this.step(-1)),
      ArrowRight: () => (event.shiftKey ? this.pan(0.2) : this.step(1)),
      ArrowUp: () => this.change(-1),
      ArrowDown: () => this.change(1),
      "+": () => this.zoom(0.6),
      "=": () => this.zoom(0.6),
      "-": () => this.zoom(1.6),
      "0": () => this.fit(),
      Home: () => this.fit(),
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  private step(by: number): void {
    const at = this.chosen ?? { lane: 0, index: -by };
    const count = this.lanes[at.lane]?.times.length ?? 0;
    const index = Math.min(count - 1, Math.max(0, at.index + by));
    if (count) this.take({ lane: at.lane, index });
  }

  private change(by: number): void {
    const time = this.chosen ? this.timeOf(this.chosen) : this.from;
    for (let lane = (this.chosen?.lane ?? -1) + by; lane >= 0 && lane < this.lanes.length; lane += by) {
      const times = this.lanes[lane]?.times ?? [];
      if (times.length) return this.take({ lane, index: Math.min(times.length - 1, lowerBound(times, time)) });
    }
  }
}

function cut(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return `${text.slice(0, end)}…`;
}

// As much of a time as the steps between the marks need.
function timeText(micros: number, step: number): string {
  const date = new Date(micros / 1000);
  if (Number.isNaN(date.getTime())) return "";
  const text = date.toISOString();
  if (step >= 86400 * SECOND) return text.slice(0, 10);
  if (step >= 60 * SECOND) return micros % (86400 * SECOND) === 0 ? text.slice(5, 10) : text.slice(11, 16);
  if (step >= SECOND) return text.slice(11, 19);
  const fraction = String(Math.round(micros % SECOND) + SECOND).slice(1);
  return `${text.slice(17, 19)}.${step >= 1000 ? fraction.slice(0, 3) : fraction}`;
}
