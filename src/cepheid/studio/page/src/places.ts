// Where the user put what is drawn in a view: kept by the studio in the folder, one file of the program at a time.
import { Studio } from "./studio";
import { NoAnswer } from "./talk";

type At = [number, number];

export class Places {
  private known: Record<string, At> = {};
  private file = "";

  constructor(
    private studio: Studio,
    private view: "graph" | "blocks",
    changed: () => void,
    private say: (text: string) => void = () => undefined,
  ) {
    studio.on("opened", () => {
      const file = studio.open?.name ?? "";
      this.file = file;
      this.known = {};
      void studio.talk.ask<Record<string, Record<string, At>>>("places", { file }).then(
        (found) => {
          if (this.file !== file) return;
          this.known = found[view] ?? {};
          changed();
        },
        (problem: NoAnswer) => problem.isStopped || this.say(problem.message),
      );
    });
  }

  of(key: string): At | undefined {
    return this.known[key];
  }

  get isEmpty(): boolean {
    return Object.keys(this.known).length === 0;
  }

  // Without a place it stands where it would by itself.
  put(key: string, at: At | null): void {
    if (at) this.known[key] = at;
    else delete this.known[key];
    this.studio.talk.ask("place", { view: this.view, file: this.file, key, at }).catch((problem: NoAnswer) => problem.isStopped || this.say(problem.message));
  }

  forget(): void {
    for (const key of Object.keys(this.known)) this.put(key, null);
  }
}
