// Statements as blocks: a list to choose from, and one of them at a time; what is drawn becomes edits of the text.
import { button, counted, el, fill } from "./dom";
import { Studio } from "./studio";
import { Finding, NoAnswer, OwnEdit, Place } from "./talk";
import type { Block, Ground, Palette } from "./workspace";

interface Declaration {
  key: string;
  title: string;
  place: Place;
  block: Block;
  old: boolean; // the text says it no longer in a form that can be read
}

const WAIT = 150; // milliseconds without a change until it is told
const NEW: Block = {
  type: "statement",
  fields: { INTO: "NewEvent", NOTES: "" },
  inputs: { SELECT: { block: { type: "all" } } },
};

export function blocksView(studio: Studio, nonce: string): HTMLElement {
  return new Blocks(studio, nonce).element;
}

class Blocks {
  readonly element: HTMLElement;
  private list = el("select", { with: { "aria-label": "Statement" } });
  private note = el("p", { class: "summary", with: { role: "status" } });
  private findings = el("ul", { class: "findings" });
  private holder = el("div", { class: "ground" });
  private area = el("textarea", { class: "declaration", with: { "aria-label": "Text of the declaration", spellcheck: "false" } });
  private ground: Promise<Ground> | null = null;
  private declarations: Declaration[] = [];
  private at = -1; // the chosen one
  private shown = ""; // what the ground was last told to show, or what it says itself
  private own: string | null = null; // the text that came of what was drawn
  private added: Block | null = null; // a statement that the text does not have yet
  private timers = { look: 0, draw: 0 };
  private pending: (() => void) | null = null; // what was drawn, and is not told yet
  private isSeen = false;

  constructor(private studio: Studio, private nonce: string) {
    this.area.addEventListener("input", () => this.hear({ type: "text", fields: { TEXT: this.area.value } }, 0));
    this.list.addEventListener("change", () => Number(this.list.value) >= 0 && this.choose(Number(this.list.value)));
    this.element = el(
      "div",
      { class: "blocks", on: { keydown: (event) => this.key(event as KeyboardEvent) } },
      el("div", { class: "bar" }, this.list, button("New statement", () => this.begin()), this.note),
      this.holder,
      this.area,
      this.findings,
    );
    studio.on("opened", () => {
      this.declarations = [];
      this.at = -1;
      this.shown = "";
      this.added = null;
      this.pending = null;
      this.read();
    });
    studio.on("text", () => this.later("look", () => void this.look()));
    studio.on("findings", () => this.mark());
    studio.on("graph", () => void this.ground?.then((ground) => ground.know(this.types())));
    new ResizeObserver(() => this.see()).observe(this.element);
  }

  // Nothing is loaded before the view is shown for the first time.
  private see(): void {
    const isSeen = this.element.clientWidth > 0;
    if (isSeen && !this.isSeen) this.read();
    this.isSeen = isSeen;
    if (isSeen) void this.ground?.then((ground) => ground.resize());
  }

  private read(): void {
    if (this.element.clientWidth > 0 && this.studio.open) void this.look();
  }

  private later(what: "look" | "draw", act: () => void): void {
    clearTimeout(this.timers[what]);
    this.timers[what] = window.setTimeout(act, WAIT);
  }

  private types(): { simple: string[]; complex: string[] } {
    const boxes = (this.studio.drawn?.boxes ?? []).filter((box) => box.key.startsWith("type:"));
    const names = (input: boolean) => boxes.filter((box) => box.input === input).map((box) => box.key.slice("type:".length));
    return { simple: names(true), complex: names(false) };
  }

  private load(): Promise<Ground> {
    this.ground ??= (async () => {
      const token = document.querySelector<HTMLMetaElement>('meta[name="token"]')?.content ?? "";
      const address = `/blocks.js?token=${encodeURIComponent(token)}`;
      const [{ Ground }, palette] = await Promise.all([
        import(address) as Promise<typeof import("./workspace")>,
        this.studio.talk.ask<Palette>("block-palette"),
      ]);
      return new Ground(this.holder, palette, this.types(), this.nonce, (block, loose) => this.hear(block, loose));
    })();
    return this.ground;
  }

  // What the text says now.
  private async look(): Promise<void> {
    const { open } = this.studio;
    if (!open || this.element.clientWidth === 0) return;
    const asked = open.text;
    try {
      const { declarations } = await this.studio.talk.ask<{ declarations: Declaration[] }>("blocks", { file: open.name, text: asked });
      if (this.studio.open !== open || open.text !== asked) return;
      this.take(declarations, this.own === asked);
    } catch (problem) {
      if (problem instanceof NoAnswer && !problem.isStopped) this.say(problem.message);
    }
  }

  private take(declarations: Declaration[], isOwn: boolean): void {
    const key = this.declarations[this.at]?.key;
    this.declarations = declarations;
    if (!isOwn) {
      const found = declarations.findIndex((each) => each.key === key);
      const first = declarations.findIndex((each) => each.block.type === "statement");
      this.at = found >= 0 ? found : Math.max(first, 0);
    }
    void this.show(isOwn);
  }

  private async show(isShown = false): Promise<void> {
    this.fillList();
    const chosen = this.declarations[this.at];
    const block = this.added ?? chosen?.block;
    if (!block) {
      this.area.hidden = this.holder.hidden = true;
      this.say("There is no statement yet.");
      return;
    }
    const isText = block.type === "text";
    this.area.hidden = !isText;
    this.holder.hidden = isText;
    const isOld = !this.added && chosen?.old === true;
    this.element.classList.toggle("old", isOld);
    if (isOld) this.say("The text cannot be read now: this is how it was.");
    else if (!this.added) this.say("");
    const said = JSON.stringify([this.added ? null : chosen?.key, block, isOld]);
    const isNew = said !== this.shown && !isShown;
    this.shown = said;
    if (isNew && isText) {
      this.area.value = block.fields?.TEXT ?? "";
      this.area.readOnly = isOld;
    } else if (isNew) {
      const ground = await this.load();
      if (this.shown !== said) return; // another one was chosen meanwhile
      ground.show(block, isOld);
    }
    this.mark();
  }

  private fillList(): void {
    const options = this.declarations.map((each, at) => {
      const sign = each.old ? " (not in the text now)" : this.about(each).length ? " – !" : "";
      return el("option", { with: { value: at } }, each.title + sign);
    });
    fill(this.list, ...options, this.added && el("option", { with: { value: -1 } }, "New statement"));
    this.list.value = String(this.added ? -1 : this.at);
  }

  private choose(at: number): void {
    this.pending?.();
    this.at = at;
    this.added = null;
    void this.show();
  }

  private begin(): void {
    if (!this.studio.open?.name.endsWith(".epl")) {
      this.say("Statements are drawn in programs in EPL.");
      return;
    }
    this.pending?.();
    this.added = NEW;
    void this.show();
    this.say("Draw an event into it: then it is a part of the text.");
  }

  // Something is drawn; what it belongs to is known now, whatever is chosen until it is told.
  private hear(block: Block, loose: number): void {
    const key = this.added ? null : this.declarations[this.at]?.key;
    if (key === undefined) return;
    this.pending = () => {
      this.pending = null;
      void this.drawn(key, block, loose);
    };
    this.later("draw", () => this.pending?.());
  }

  // The text follows, or it is told what is missing.
  private async drawn(key: string | null, block: Block, loose: number): Promise<void> {
    const { open } = this.studio;
    if (!open) return;
    const asked = open.text;
    try {
      const { edits } = await this.studio.talk.ask<{ edits: OwnEdit[] }>("draw-blocks", {
        file: open.name,
        text: asked,
        key,
        block,
      });
      if (this.studio.open !== open || open.text !== asked) return;
      this.say(loose ? `${counted(loose, "block")} beside it, which the text does not have.` : "");
      if (!edits.length) return;
      if (key === null) {
        this.at = this.declarations.length;
        this.added = null;
      }
      this.shown = ""; // what is drawn is ahead of what was told
      this.studio.change(edits, asked);
      this.own = open.text;
    } catch (problem) {
      if (problem instanceof NoAnswer && !problem.isStopped) this.say(`Not in the text yet: ${problem.message}.`);
    }
  }

  private say(text: string): void {
    fill(this.note, text);
  }

  private about(declaration: Declaration): Finding[] {
    const { place } = declaration;
    return this.studio.findings.filter(
      (each) =>
        each.severity !== "note" && each.file === this.studio.open?.name && each.line !== null &&
        each.line >= place.line && each.line <= place.end_line,
    );
  }

  // Findings sit on the block of their statement.
  private mark(): void {
    const chosen = this.declarations[this.at];
    const about = chosen && !this.added ? this.about(chosen) : [];
    this.fillList();
    const isBad = about.some((each) => each.severity === "error");
    void this.ground?.then((ground) => ground.mark(about.length ? (isBad ? "error" : "warning") : null));
    fill(this.findings, ...about.map((each) => el("li", { class: each.severity }, el("span", { class: "sign" }, "! "), each.message)));
  }

  // The history is that of the text.
  private key(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || !["z", "y", "Z"].includes(event.key)) return;
    if ((event.target as HTMLElement).matches("input, textarea")) return;
    this.studio.tell(event.key === "z" && !event.shiftKey ? "undo" : "redo");
    event.preventDefault();
  }
}
