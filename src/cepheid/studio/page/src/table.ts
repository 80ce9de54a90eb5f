// The rows of a run, a page of them at a time, fetched when they are looked at.
import { button, counted, el, fill } from "./dom";
import { Lane } from "./lanes";
import { when } from "./zone";

const PAGE = 100;

export interface Row {
  index: number; // among all of the lane
  time: string;
  values: (string | null)[];
  mark: string;
}

export interface Rows {
  rows: Row[];
  count: number; // of those that are asked for
}

export class Table {
  readonly element = el("div", { class: "table-ground" });
  private first = 0;
  private chosen = -1;
  private lane: Lane | null = null;
  private count = 0;

  constructor(
    private fetch: (lane: Lane, from: number) => Promise<Rows>,
    private choose: (lane: Lane, index: number) => void,
  ) {}

  // The page with a place in view; `index` is the one that is chosen, among all of the lane.
  async show(lane: Lane, index = -1, place = index): Promise<void> {
    this.lane = lane;
    this.chosen = index;
    this.first = Math.max(0, Math.floor(place / PAGE)) * PAGE;
    const from = this.first;
    const found = lane.count ? await this.fetch(lane, from) : { rows: [], count: 0 };
    if (this.lane !== lane || this.first !== from) return;
    this.count = found.count;
    this.draw(lane, found.rows.slice(0, PAGE));
  }

  clear(): void {
    this.lane = null;
    fill(this.element);
  }

  private draw(lane: Lane, rows: Row[]): void {
    if (lane.count && !rows.length) {
      fill(this.element, el("p", { class: "empty" }, "Nothing here has what is searched for."));
      return;
    }
    if (!lane.count) {
      fill(this.element, el("p", { class: "empty" }, lane.kind === "in" ? "No events." : "Nothing was found."));
      return;
    }
    const numbers = rows.map((row) => row.values.map((value) => value !== null && /^-?\d+(\.\d+)?$/.test(value)));
    const body = rows.map((row, place) => this.line(lane, row, row.index, numbers[place] ?? []));
    const table = el(
      "table",
      {},
      el("caption", { class: "unseen" }, lane.type),
      el("thead", {}, el("tr", {}, el("th", { with: { scope: "col" } }, "time"),
        ...lane.columns.map((name, place) =>
          el("th", { class: numbers.every((row) => row[place]) ? "number" : "", with: { scope: "col" } }, name),
        ))),
      el("tbody", {}, ...body),
    );
    fill(this.element, table, this.count > PAGE && this.pager(lane));
    const chosen = this.element.querySelector<HTMLElement>(".chosen"); // only the table scrolls, not what is around it
    if (chosen) this.element.scrollTop = chosen.offsetTop - this.element.clientHeight / 2;
  }

  private line(lane: Lane, row: Row, index: number, isNumber: boolean[]): HTMLElement {
    const take = () => {
      this.chosen = index;
      for (const each of this.element.querySelectorAll(".chosen")) each.classList.remove("chosen");
      line.classList.add("chosen");
      this.choose(lane, index);
    };
    const line = el(
      "tr",
      {
        class: index === this.chosen ? "chosen" : "",
        with: { tabindex: 0 },
        on: {
          click: take,
          keydown: (event) => {
            const other = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
            if (other instanceof HTMLElement) other.focus();
            else if (event.key === "Enter" || event.key === " ") take();
            else return;
            event.preventDefault();
          },
        },
      },
      el("td", { class: "time" }, when(row.time), row.mark && el("span", { class: "muted" }, ` ${row.mark}`)),
      ...row.values.map((value, place) =>
        el("td", { class: isNumber[place] ? "number" : "" }, value ?? el("span", { class: "muted" }, "–")),
      ),
    );
    return line;
  }

  private pager(lane: Lane): HTMLElement {
    const last = Math.min(this.count, this.first + PAGE);
    const go = (place: number) => void this.show(lane, -1, place);
    return el(
      "div",
      { class: "bar pager" },
      button("Earlier", () => go(this.first - PAGE), { with: { disabled: this.first === 0 } }),
      el("span", {}, `${(this.first + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${counted(this.count, "row")}`),
      button("Later", () => go(this.first + PAGE), { with: { disabled: last === this.count } }),
    );
  }
}
