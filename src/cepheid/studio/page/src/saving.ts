// Saving, and files that changed on disk since they were opened: both texts side by side, to choose from.
import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { button, el } from "./dom";
import { Studio } from "./studio";
import { NoAnswer } from "./talk";

interface Saved {
  version?: string;
  changed?: { text: string; version: string } | null;
}

const OFTEN = 3000; // milliseconds between looks at the disk

export class Saving {
  private dialog: HTMLDialogElement | null = null;
  private refused: string | null | undefined; // the version on disk that the user saw and did not take

  constructor(
    private studio: Studio,
    private nonce: string,
    private tell: (text: string, isBad?: boolean) => void,
  ) {
    setInterval(() => void this.look(), OFTEN);
    window.addEventListener("focus", () => {
      void this.look();
      void studio.lookForFiles().catch(() => undefined); // the header says where the studio is away
    });
    window.addEventListener("beforeunload", (event) => {
      if (studio.isDirty) event.preventDefault();
    });
  }

  async save(again = false): Promise<void> {
    const { open } = this.studio;
    if (!open || this.dialog) return;
    const { text } = open;
    try {
      const said = await this.studio.talk.ask<Saved>("save", { file: open.name, text, version: open.version, again });
      if (said.version !== undefined) {
        open.version = said.version;
        open.saved = text;
        this.tell("Saved.");
        this.studio.tell("saved");
        await this.studio.readFiles();
      } else if (said.changed) this.ask(said.changed);
      else this.askRemoved();
    } catch (problem) {
      this.tell((problem as NoAnswer).message, true);
    }
  }

  // Whether the file is still as it was opened; without changes of one's own, the new text is simply shown.
  private async look(): Promise<void> {
    const { open } = this.studio;
    if (!open || open.version === null || this.dialog || document.hidden) return;
    try {
      const known = open.version;
      const versions = await this.studio.talk.ask<Record<string, string | null>>("versions", { files: [open.name] });
      const there = versions[open.name];
      if (this.studio.open !== open || open.version !== known || there === known || there === this.refused) return;
      if (!there) {
        this.refused = there;
        this.tell(`${open.name} is not on the disk any more; saving writes it again.`, true);
        return;
      }
      const found = await this.studio.talk.ask<{ text: string; version: string }>("open", { file: open.name });
      if (this.studio.isDirty) this.ask(found);
      else {
        this.studio.show({ name: open.name, text: found.text, saved: found.text, version: found.version });
        this.tell("The file changed on disk and was read again.");
      }
    } catch {
      return; // the studio is away; the header says so
    }
  }

  private ask(disk: { text: string; version: string }): void {
    const open = this.studio.open;
    if (!open || this.dialog) return;
    const keep = () => {
      open.version = disk.version;
      this.close();
      void this.save();
    };
    const take = () => {
      this.close();
      this.studio.show({ name: open.name, text: disk.text, saved: disk.text, version: disk.version });
    };
    const later = () => {
      this.refused = disk.version;
      this.close();
    };
    const ground = el("div", { class: "merge" });
    this.show(
      `${open.name} changed on disk`,
      el("p", {}, "Someone else, or another program, wrote this file since you opened it. On the left is what you have here, on the right what is on the disk."),
      ground,
      button("Keep mine", keep, { class: "main", title: "Write what is here over the file" }),
      button("Take the one on disk", take, { title: "Throw away what is here" }),
      button("Decide later", later),
    );
    const look = [EditorView.cspNonce.of(this.nonce), EditorState.readOnly.of(true), lineNumbers(), EditorView.lineWrapping];
    new MergeView({
      a: { doc: open.text, extensions: look },
      b: { doc: disk.text, extensions: look },
      parent: ground,
      collapseUnchanged: { margin: 2 },
    });
  }

  private askRemoved(): void {
    this.show(
      "The file is gone",
      el("p", {}, "Someone removed it from the disk since you opened it."),
      el("span"),
      button("Write it again", () => {
        this.close();
        void this.save(true);
      }, { class: "main" }),
      button("Leave it", () => this.close()),
    );
  }

  private show(title: string, text: HTMLElement, ground: HTMLElement, ...buttons: HTMLElement[]): void {
    this.dialog = el("dialog", { with: { "aria-label": title } }, el("h2", {}, title), text, ground, el("div", { class: "bar" }, ...buttons));
    this.dialog.addEventListener("close", () => this.close());
    document.body.append(this.dialog);
    this.dialog.showModal();
  }

  private close(): void {
    const { dialog } = this;
    this.dialog = null;
    dialog?.remove();
  }
}
