// Work that takes long: a button that begins it, one that stops it, how far it is, and what went wrong.
import { button, el, fill } from "../dom";
import { problemList } from "../findings";
import { NoAnswer, Progress, Question, Talk } from "../talk";

export class Work {
  readonly start: HTMLButtonElement;
  readonly stop = button("Stop", () => this.question?.cancel(), { with: { hidden: true } });
  readonly status = el("p", { class: "summary", with: { role: "status" } });
  readonly problems = el("div");
  readonly bar = el("progress", { with: { hidden: true, "aria-label": "How much is done" } });
  private question: Question<unknown> | null = null;

  constructor(title: string) {
    this.start = el("button", { class: "main" }, title);
  }

  get isBusy(): boolean {
    return this.question !== null;
  }

  // Null where there is no answer; why is shown. `told` says how far it is.
  async ask<T>(talk: Talk, verb: string, given: object, begun: string, told: (progress: Progress) => string): Promise<T | null> {
    if (this.question) return null;
    fill(this.problems);
    fill(this.status, begun);
    this.bar.removeAttribute("value");
    const question = talk.ask<T>(verb, given, (progress) => {
      fill(this.status, told(progress));
      if (progress.total) {
        this.bar.max = progress.total;
        this.bar.value = progress.done;
      }
    });
    this.question = question;
    this.show();
    try {
      const found = await question;
      fill(this.status);
      return found;
    } catch (problem) {
      this.fail(problem as NoAnswer);
      return null;
    } finally {
      this.question = null;
      this.show();
    }
  }

  fail(problem: NoAnswer): void {
    fill(this.status, problem.isStopped ? "Stopped." : "This could not be done.");
    fill(this.problems, problemList(problem.problems ?? []));
  }

  private show(): void {
    this.start.disabled = this.isBusy;
    this.stop.hidden = this.bar.hidden = !this.isBusy;
  }
}
