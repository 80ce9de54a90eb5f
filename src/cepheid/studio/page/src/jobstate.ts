// What a stream keeps: its last committed state, read from the checkpoint by a Spark of its own.
import { button, counted, el, fill } from "./dom";
import { problemList } from "./findings";
import { Job } from "./jobview";
import { Studio } from "./studio";
import { NoAnswer, Question } from "./talk";

interface KeptEvent {
  tag: string;
  type: string;
  time: string | null;
  values: [string, string][];
}

interface Kept {
  batch: number;
  seconds: number;
  buckets: number;
  bytes: number;
  happened: string | null; // everything up to here has
  matches: { statement: string; key: string[]; events: KeptEvent[]; awaits: string[]; ends: string | null }[];
  matched: number;
  windows: { statement: string; text: string; count: number; rows: { leaves: string | null; values: [string, string][] }[]; groups: [string, string][][] }[];
  timers: { due: string; statement: string }[];
  waiting: { type: string; count: number; first: string; last: string }[];
  words: string[];
}

export class JobState {
  readonly element: HTMLElement;
  private found = el("div", { class: "kept-state" });
  private look = button("Read it", () => void this.ask());
  private stop = button("Stop reading", () => this.question?.cancel(), { with: { hidden: true } });
  private status = el("span", { class: "muted", with: { role: "status" } });
  private question: Question<Kept> | null = null;
  private name = "";

  constructor(private studio: Studio) {
    this.element = el(
      "details",
      { with: { hidden: true, open: true } },
      el("summary", {}, "What it keeps"),
      el("div", { class: "bar" }, this.look, this.stop, this.status),
      this.found,
    );
  }

  show(job: Job): void {
    this.element.hidden = job.kind !== "stream";
    if (job.name === this.name) return;
    this.question?.cancel();
    this.name = job.name;
    fill(this.found);
    fill(this.status, "Partial matches, windows and timers of its last micro-batch. Reading starts a Spark: some 10 seconds.");
  }

  private async ask(): Promise<void> {
    if (this.question) return;
    const { name } = this;
    fill(this.status, "Reading the checkpoint: some 10 seconds …");
    this.stop.hidden = false;
    this.look.disabled = true;
    try {
      this.question = this.studio.talk.ask<Kept>("job-inspect", { name });
      const kept = await this.question;
      if (name !== this.name) return;
      fill(this.status, `After micro-batch ${kept.batch}: ${counted(kept.buckets, "bucket")}, ${kept.bytes.toLocaleString("en")} bytes; read in ${kept.seconds.toFixed(1)} s.`);
      fill(this.found, ...this.parts(kept));
    } catch (problem) {
      if (name !== this.name) return;
      const { problems, isStopped } = problem as NoAnswer;
      fill(this.status, isStopped ? "Stopped." : "");
      fill(this.found, problems.length > 0 && problemList(problems));
    } finally {
      this.question = null;
      this.stop.hidden = true;
      this.look.disabled = false;
    }
  }

  private parts(kept: Kept): (HTMLElement | false)[] {
    const nothing = !kept.matched && !kept.windows.length && !kept.timers.length && !kept.waiting.length;
    return [
      kept.happened !== null && el("p", { class: "muted" }, `Everything up to ${kept.happened} has happened.`),
      nothing && el("p", { class: "empty" }, "It keeps nothing at the moment."),
      kept.matched > 0 && el("h4", {}, counted(kept.matched, "partial match", "partial matches")),
      ...kept.matches.map((match) =>
        el(
          "div",
          { class: "match" },
          el("div", { class: "line" }, el("strong", {}, match.statement), match.key.length > 0 && el("span", {}, `[${match.key.join(", ")}]`), match.ends && el("span", { class: "muted" }, `until ${match.ends}`)),
          ...match.events.map(eventOf),
          ...match.awaits.map((text) => el("div", { class: "line" }, el("span", { class: "muted" }, "awaits"), el("code", {}, text))),
        ),
      ),
      kept.matched > kept.matches.length && el("p", { class: "muted" }, `and ${(kept.matched - kept.matches.length).toLocaleString("en")} more`),
      kept.windows.length > 0 && el("h4", {}, "Windows"),
      ...kept.windows.map((window) =>
        el(
          "div",
          { class: "match" },
          el("div", { class: "line" }, el("strong", {}, window.statement), el("code", {}, window.text), el("span", { class: "muted" }, counted(window.count, "row"))),
          ...window.rows.map((row) => el("div", { class: "line" }, ...values(row.values), row.leaves && el("span", { class: "muted" }, `leaves ${row.leaves}`))),
          window.count > window.rows.length && el("p", { class: "muted" }, `and ${(window.count - window.rows.length).toLocaleString("en")} more`),
        ),
      ),
      kept.timers.length > 0 && el("h4", {}, "Timers"),
      ...kept.timers.map(({ due, statement }) => el("div", { class: "line" }, el("time", {}, due), el("strong", {}, statement))),
      kept.waiting.length > 0 && el("h4", {}, "Events that wait for the watermark"),
      ...kept.waiting.map(({ type, count, first, last }) => el("div", { class: "line" }, el("strong", {}, type), counted(count, "event"), el("span", { class: "muted" }, first === last ? first : `${first} to ${last}`))),
      kept.words.length > 0 && el("h4", {}, "In the memory of the compiled machine"),
      kept.words.length > 0 && el("pre", {}, kept.words.join("\n")),
    ];
  }
}

function eventOf(event: KeptEvent): HTMLElement {
  return el("div", { class: "line" }, event.tag && el("span", {}, `${event.tag} =`), el("span", { class: "event" }, event.type), event.time && el("time", { class: "muted" }, event.time), ...values(event.values));
}

function values(some: [string, string][]): HTMLElement[] {
  return some.map(([name, value]) => el("span", { class: "value" }, el("span", { class: "muted" }, `${name} `), value));
}
