// Jobs: streams and batches of the folder in processes of their own, which go on when the page or the studio ends.
import { button, counted, el, fill } from "./dom";
import { problemList } from "./findings";
import { JobForm } from "./jobform";
import { JobView, Job, Watched } from "./jobview";
import { Studio } from "./studio";
import { Finding, NoAnswer } from "./talk";

interface Listing {
  jobs: Job[];
  problems: Finding[];
  watched: Watched | null;
}

const OFTEN = 1000; // milliseconds between two looks at the records

export class Jobs {
  readonly element: HTMLElement;
  private status = el("p", { class: "summary", with: { role: "status" } });
  private list = el("ul", { class: "jobs-list", with: { "aria-label": "Jobs" } });
  private problems = el("div");
  private lines = new Map<string, HTMLButtonElement>();
  private form: JobForm;
  private view: JobView;
  private watched: string | null = null;
  private isLooking = false;

  constructor(private studio: Studio) {
    this.form = new JobForm(studio, (name) => this.watch(name));
    this.view = new JobView(studio, (name) => this.watch(name));
    this.element = el(
      "div",
      { class: "jobs" },
      el("div", { class: "bar" }, this.status, button("Start a job", () => this.form.toggle(), { class: "main" })),
      this.form.element,
      this.problems,
      this.list,
      this.view.element,
    );
    setInterval(() => void this.look(), OFTEN);
    void this.look();
  }

  private get isShown(): boolean {
    return !document.hidden && this.element.isConnected && this.element.offsetParent !== null;
  }

  private watch(name: string | null): void {
    this.watched = name;
    void this.look(true);
  }

  private async look(isAsked = false): Promise<void> {
    if ((!isAsked && !this.isShown) || (this.isLooking && !isAsked)) return;
    this.isLooking = true;
    try {
      const { watched } = this;
      const found = await this.studio.talk.ask<Listing>("jobs", { watched });
      if (watched === this.watched) this.show(found);
    } catch (problem) {
      const { problems } = problem as NoAnswer;
      if (problems.length) fill(this.problems, problemList(problems));
    } finally {
      this.isLooking = false;
    }
  }

  private show({ jobs, problems, watched }: Listing): void {
    const running = jobs.filter((job) => job.alive).length;
    fill(this.status, jobs.length ? `${counted(jobs.length, "job")}, ${running} running.` : "Streams and batches that go on when you leave.");
    fill(this.problems, problems.length > 0 && problemList(problems));
    if (!this.watched && jobs[0]) this.watch(jobs[0].name);
    const lines = jobs.map((job) => this.line(job));
    const names = new Set(jobs.map((job) => job.name));
    for (const name of [...this.lines.keys()].filter((each) => !names.has(each))) this.lines.delete(name);
    const isSame = lines.length === this.list.children.length && lines.every((line, at) => line.parentElement === this.list.children[at]);
    if (!isSame) fill(this.list, ...lines.map((line) => el("li", {}, line)));
    const job = jobs.find((each) => each.name === this.watched);
    if (this.watched && !job) this.watched = null;
    this.view.show(job ?? null, watched);
  }

  // The line of a job stays the same element, so that who is on it stays there.
  private line(job: Job): HTMLButtonElement {
    const line = this.lines.get(job.name) ?? button("", () => this.watch(job.name), { class: "job" });
    this.lines.set(job.name, line);
    const said = JSON.stringify([job, this.watched === job.name]);
    if (line.dataset.said === said) return line;
    line.dataset.said = said;
    line.setAttribute("aria-current", String(this.watched === job.name));
    fill(
      line,
      el("span", { class: `state ${job.state}` }, job.state),
      el("strong", {}, job.name),
      job.changed.length > 0 && el("span", { class: "old", title: "The program has changed since" }, "older program"),
      el("span", { class: "numbers" }, [count(job.events, "event"), count(job.rows, "row")].filter((each) => each).join(", ")),
    );
    return line;
  }
}

function count(number: number | null, noun: string): string {
  return number === null ? "" : counted(number, noun);
}
