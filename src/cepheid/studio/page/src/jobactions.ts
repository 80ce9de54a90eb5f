// The actions that a job has put into an outbox: what a dry run would do, and only then that it is done.
import { button, counted, el, fill } from "./dom";
import { problemList } from "./findings";
import { Job } from "./jobview";
import { Studio } from "./studio";
import { Finding, NoAnswer } from "./talk";

interface Rehearsal {
  executors: string | null;
  planned: { action: string; would: string }[];
  count: number;
  problems: Finding[];
  refused: string[];
  digest: string;
}

interface Done {
  tallies: { name: string; delivered: number; retried: number; dead: number; waiting: number }[];
  problems: Finding[];
}

export class JobActions {
  readonly element: HTMLDetailsElement;
  private found = el("div");
  private rehearse = button("Dry run", () => void this.look(), { title: "Tells what would be done, and does nothing" });
  private act = button("Do them", () => void this.do(), { class: "main", with: { hidden: true } });
  private rehearsal: Rehearsal | null = null;
  private job: Job | null = null;

  constructor(private studio: Studio) {
    this.element = el("details", { class: "actions", with: { open: true, hidden: true } }, el("summary", {}, "Actions"), el("div", { class: "bar" }, this.rehearse, this.act), this.found);
  }

  show(job: Job): void {
    this.element.hidden = !job.outbox;
    if (this.job?.name !== job.name || this.job?.runs !== job.runs) {
      this.end();
      fill(this.found, el("p", { class: "muted" }, `They wait in ${job.outbox}. Nothing is done before a dry run has said what that would be.`));
    }
    this.job = job;
  }

  private end(): void {
    this.rehearsal = null;
    this.act.hidden = true;
  }

  private async look(): Promise<void> {
    this.end();
    const said = await this.ask<Rehearsal>("actions-rehearse", {});
    if (!said) return;
    this.rehearsal = said;
    this.act.hidden = said.count === 0 || said.refused.length > 0;
    fill(
      this.found,
      el("p", {}, said.executors ? `With ${said.executors}, ${counted(said.count, "action")} would be done:` : "There is no file with executors here: executors.toml or cepheid.toml."),
      el("ul", { class: "planned" }, ...said.planned.map(({ action, would }) => el("li", {}, el("strong", {}, action), ` ${would}`))),
      said.count > said.planned.length && el("p", { class: "muted" }, `and ${counted(said.count - said.planned.length, "more", "more")}`),
      ...said.refused.map((why) => el("p", { class: "notice bad" }, why)),
      said.problems.length > 0 && problemList(said.problems),
    );
  }

  private async do(): Promise<void> {
    const { rehearsal } = this;
    if (!rehearsal) return;
    this.end();
    fill(this.found, el("p", { class: "muted" }, "Doing them …"));
    const done = await this.ask<Done>("actions-do", { digest: rehearsal.digest });
    if (!done) return;
    fill(
      this.found,
      ...done.tallies.map((each) =>
        el("p", {}, el("strong", {}, each.name), `: ${each.delivered} done${each.dead ? `, ${each.dead} dead` : ""}${each.waiting ? `, ${each.waiting} waiting` : ""}`),
      ),
      done.problems.length > 0 && problemList(done.problems),
    );
  }

  private async ask<T>(verb: string, more: object): Promise<T | null> {
    try {
      return await this.studio.talk.ask<T>(verb, { name: this.job?.name, ...more });
    } catch (problem) {
      fill(this.found, problemList((problem as NoAnswer).problems));
      return null;
    }
  }
}
