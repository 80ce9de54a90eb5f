// One job: how it is, what can be done with it, its latest rows with what is behind them, and what it printed.
import { button, Child, el, fill } from "./dom";
import { problemList } from "./findings";
import { JobActions } from "./jobactions";
import { JobState } from "./jobstate";
import { Studio } from "./studio";
import { Finding, NoAnswer } from "./talk";

export interface Job {
  name: string;
  kind: string;
  state: string;
  alive: boolean;
  by_force: boolean;
  since: string;
  runs: number;
  events: number | null;
  rate: number | null;
  rows: number | null;
  late: number | null;
  rejected: number | null;
  watermark: string | null;
  errors: Finding[];
  command: string;
  program: string[];
  digest: string;
  checkpoint: string | null;
  own: boolean;
  changed: string[];
  outbox: string | null;
}

interface Row {
  type: string;
  time: string;
  values: [string, string][];
  why: Row[];
}

export interface Watched {
  name: string;
  rows: Row[];
  log: string;
}

export class JobView {
  readonly element: HTMLElement;
  private title = el("h3");
  private stop = button("Stop", () => void this.act("job-stop", "Stopping …"));
  private restart = button("Restart", () => void this.act("job-restart", "Starting again …"), { title: "A stream goes on from its checkpoint" });
  private afresh = button("Start afresh", () => void this.act("job-afresh", "Starting …"), {
    title: "The program as it is now, with a new checkpoint and a new folder for rows",
  });
  private remove = button("Remove", () => void this.act("job-remove", ""), { title: "Forget it: record and log, not checkpoint and rows" });
  private said = el("p", { class: "notice", with: { role: "status" } });
  private refused = el("div", { with: { role: "alert" } });
  private facts = el("dl", { class: "facts" });
  private errors = el("div");
  private rows = el("div", { class: "tree" });
  private log = el("pre", { class: "log", with: { tabindex: 0, "aria-label": "Log" } });
  private latest = el("details", { with: { open: true } }, el("summary", {}, "Latest rows"), this.rows);
  private kept: JobState;
  private wanted: JobActions;
  private job: Job | null = null;
  private busy = false;
  private shown = new Map<HTMLElement, string>();

  constructor(private studio: Studio, private watch: (name: string | null) => void) {
    this.kept = new JobState(studio);
    this.wanted = new JobActions(studio);
    this.element = el(
      "section",
      { class: "job-view", with: { hidden: true, "aria-label": "The chosen job" } },
      el("div", { class: "bar" }, this.title, this.stop, this.restart, this.afresh, this.remove),
      this.said,
      this.refused,
      this.errors,
      this.facts,
      this.latest,
      this.wanted.element,
      this.kept.element,
      el("details", { with: { open: true } }, el("summary", {}, "Log"), this.log),
    );
  }

  show(job: Job | null, watched: Watched | null): void {
    if (job?.name !== this.job?.name) {
      fill(this.refused);
      this.shown.clear();
    }
    this.job = job;
    this.element.hidden = job === null;
    if (!job) return;
    this.arrange(job);
    this.change(this.title, [job.name, job.state], () => [el("span", { class: `state ${job.state}` }, job.state), ` ${job.name}`]);
    this.change(this.errors, [job.state, job.errors], () => [job.errors.length > 0 && problemList(job.errors), lost(job)]);
    this.change(this.facts, job, () => facts(job));
    this.kept.show(job);
    this.wanted.show(job);
    if (watched?.name !== job.name) return;
    this.change(this.rows, watched.rows, () => (watched.rows.length ? watched.rows.map((row) => rowOf(row)) : [el("p", { class: "empty" }, "None yet.")]));
    const isAtEnd = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 4;
    this.change(this.log, watched.log, () => [watched.log || "It printed nothing."]);
    if (isAtEnd) this.log.scrollTop = this.log.scrollHeight;
  }

  // What has not changed stays as it is: someone may be reading, or have marked, a part of it.
  private change(element: HTMLElement, data: unknown, make: () => Child[]): void {
    const said = JSON.stringify(data);
    if (this.shown.get(element) === said) return;
    this.shown.set(element, said);
    fill(element, ...make());
  }

  private arrange(job: Job): void {
    this.stop.hidden = !job.alive;
    this.restart.hidden = job.alive || !job.own;
    this.remove.hidden = job.alive;
    this.afresh.hidden = job.alive || !job.own || !(job.changed.length || this.refused.hasChildNodes());
    for (const each of [this.stop, this.restart, this.afresh, this.remove]) each.disabled = this.busy;
    if (this.busy) return;
    const files = job.changed.join(", ");
    const old = `It runs ${files} as it was when it started; the file has changed since.`;
    const ended = `${files} has changed since it ran, so its old checkpoint may not fit: start afresh, or put the old program back.`;
    const elsewhere = "It was started elsewhere, with what the studio does not start: the command line starts it again.";
    fill(this.said, files ? (job.alive ? old : ended) : !job.own && !job.alive ? elsewhere : "");
  }

  private async act(verb: string, doing: string): Promise<void> {
    const { job } = this;
    if (!job || this.busy) return;
    this.busy = true;
    fill(this.said, doing);
    fill(this.refused);
    this.arrange(job);
    try {
      const { name } = await this.studio.talk.ask<{ name: string }>(verb, { name: job.name });
      this.watch(verb === "job-remove" ? null : name);
    } catch (problem) {
      fill(this.refused, problemList((problem as NoAnswer).problems));
    } finally {
      this.busy = false;
      if (this.job) this.arrange(this.job);
    }
  }
}

function lost(job: Job): Child {
  if (job.state !== "lost") return null;
  return el("p", { class: "notice bad" }, "Its process is gone without a word: it was killed, or the machine was started anew. Nothing is lost: Restart goes on from its checkpoint.");
}

function facts(job: Job): HTMLElement[] {
  const number = (value: number | null) => (value === null ? null : value.toLocaleString("en", { maximumFractionDigits: 0 }));
  const told: [string, string | null][] = [
    ["events", number(job.events)],
    ["events/s", number(job.rate)],
    ["rows", number(job.rows)],
    ["late", number(job.late)],
    ["rejected", number(job.rejected)],
    ["watermark", job.watermark],
    ["since", `${job.since}${job.by_force ? ", stopped by force" : ""}${job.runs > 1 ? `, started ${job.runs} times` : ""}`],
    ["program", `${job.program.join(", ")}, version ${job.digest.slice(0, 8)}`],
    ["checkpoint", job.checkpoint],
    ["command", job.command],
  ];
  return told.filter(([, value]) => value !== null).map(([name, value]) => el("div", { class: `fact-${name.replace(/\W/g, "-")}` }, el("dt", {}, name), el("dd", {}, value)));
}

function rowOf(row: Row, isTop = true): HTMLElement {
  const values = row.values.map(([name, value]) => el("span", { class: "value" }, el("span", { class: "muted" }, `${name} `), value));
  const line = el("div", { class: "line" }, el("span", { class: `event ${isTop ? "out" : ""}` }, row.type), el("time", { class: "muted" }, row.time), ...values);
  if (!row.why.length) return line;
  return el("details", { class: "row", with: { open: !isTop } }, el("summary", { title: "What is behind it" }, line), el("ul", {}, ...row.why.map((each) => el("li", {}, rowOf(each, false)))));
}
