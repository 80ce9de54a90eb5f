// Statements as blocks: a list to choose from, and one of them at a time; what is drawn becomes edits of the text.
import { button, counted, el, fill } from "./dom";
import { historyKeys } from "./history";
import { Places } from "./places";
import { Studio } from "./studio";
import { Finding, NoAnswer, OwnEdit, Place } from "./talk";
import type { Block, Ground, Mark, Palette, Types } from "./workspace";

interface Declaration {
  key: string;
  title: string;
  place: Place;
  block: Block;
  places: (Omit<Place, "file"> & { path: string[] })[]; // of what is in it
  old: boolean; // the text says it no longer in a form that can be read
}

const WAIT = 150; // milliseconds without a change until it is told
const CONTEXT: Block = { type: "partition", fields: { NAME: "Each", NOTES: "" } };

export function blocksView(studio: Studio, nonce: string): HTMLElement {
  return new Blocks(studio, nonce).element;
}

class Blocks {
  readonly element: HTMLElement;
  private list = el("select", { with: { "aria-label": "Statement" } });
  private note = el("p", { class: "summary said", with: { role: "status" } });
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
  private places: Places;

  constructor(private studio: Studio, private nonce: string) {
    this.area.addEventListener("input", () => this.hear({ type: "text", fields: { TEXT: this.area.value } }, 0));
    this.list.addEventListener("change", () => Number(this.list.value) >= 0 && this.choose(Number(this.list.value)));
    this.element = el(
      "div",
      { class: "blocks" },
      el(
        "div",
        { class: "bar" },
        this.list,
        button("New statement", () => this.begin(newStatement(this.free()))),
        button("New context", () => this.begin(CONTEXT), { title: "What tells events apart, for statements that work on each kind by itself" }),
      ),
      this.note,
      this.holder,
      this.area,
    );
    historyKeys(this.element, studio);
    this.places = new Places(studio, "blocks", () => {
      if (!this.key || !this.places.of(this.key)) return;
      this.shown = ""; // it stands elsewhere
      void this.show();
    }, (text) => this.say(text));
    studio.on("begin", () => void this.beginWith(studio.begun));
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

  private types(): Types {
    const { drawn } = this.studio;
    const all = Object.entries(drawn?.types ?? {}).map(([name, properties]) => {
      const look = drawn?.looks[name];
      return { name, properties, icon: look?.icon ?? "", about: look?.description ?? "", isMade: drawn?.derived.includes(name) };
    });
    return { simple: all.filter((each) => !each.isMade), complex: all.filter((each) => each.isMade) };
  }

  // A name that no type has.
  private free(): string {
    const names = Object.keys(this.studio.drawn?.types ?? {});
    let name = "NewEvent";
    for (let number = 2; names.includes(name); number++) name = `NewEvent${number}`;
    return name;
  }

  private load(): Promise<Ground> {
    this.ground ??= (async () => {
      const token = document.querySelector<HTMLMetaElement>('meta[name="token"]')?.content ?? "";
      const address = `/blocks.js?token=${encodeURIComponent(token)}`;
      const [{ Ground }, palette] = await Promise.all([
        import(address) as Promise<typeof import("./workspace")>,
        this.studio.talk.ask<Palette>("block-palette"),
      ]);
      return new Ground(this.holder, palette, this.types(), this.nonce, {
        ask: (verb, given) => this.studio.talk.ask(verb, given),
        say: (text) => this.say(text),
        drawn: (block, loose) => this.hear(block, loose),
        moved: (x, y) => this.key && this.places.put(this.key, [x, y]),
      });
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
      ground.show(block, isOld, this.places.of(this.key ?? ""));
    }
    this.mark();
  }

  private fillList(): void {
    const options = this.declarations.map((each, at) => {
      const isWrong = this.about(each).some((finding) => finding.severity !== "note");
      const sign = each.old ? " (not in the text now)" : isWrong ? " – !" : "";
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

  private get key(): string | undefined {
    return this.added ? undefined : this.declarations[this.at]?.key;
  }

  private begin(block: Block): void {
    if (!this.studio.open?.name.endsWith(".epl")) {
      this.say("Statements are drawn in programs in EPL.");
      return;
    }
    this.pending?.();
    this.added = block;
    void this.show();
    const what = block.type === "statement" ? "an event" : "what tells events apart";
    this.say(`Draw ${what} into it: then it is a part of the text.`);
  }

  // A statement that already says something.
  private async beginWith(type: string): Promise<void> {
    const block = newStatement(this.free(), type);
    this.begin(block);
    await this.load(); // it is shown before the text has it
    if (this.added === block) void this.drawn(null, block, 0);
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
    this.note.title = text;
  }

  private about(declaration: Declaration): Finding[] {
    const { place } = declaration;
    return this.studio.findings.filter(
      (each) => each.file === this.studio.open?.name && each.line !== null && each.line >= place.line && each.line <= place.end_line,
    );
  }

  // Findings sit on the blocks that they are about.
  private mark(): void {
    const chosen = this.declarations[this.at];
    const about = chosen && !this.added && !chosen.old ? this.about(chosen) : [];
    this.fillList();
    const marks: Mark[] = about.map((each) => ({
      path: chosen ? pathTo(chosen, each) : [],
      severity: each.severity,
      text: [each.message, each.hint].filter(Boolean).join("\n"),
    }));
    void this.ground?.then((ground) => ground.mark(marks));
  }
}

function newStatement(into: string, type?: string): Block {
  const event: Block = { type: "event", fields: { TYPE: type ?? "", TAG: (type?.[0] ?? "").toLowerCase() } };
  const inputs = { SELECT: { block: { type: "all" } }, ...(type ? { SOURCE: { block: event } } : {}) };
  return { type: "statement", fields: { INTO: into, NAME: "", NOTES: "" }, inputs };
}

// The innermost block whose place in the text has all of a finding.
function pathTo(declaration: Declaration, finding: Finding): string[] {
  const { line, column, end_line, end_column } = finding;
  const start = [line ?? 1, column ?? 1] as const;
  const end = [end_line ?? start[0], end_column ?? start[1]] as const;
  const holds = declaration.places.filter(
    (each) => isBefore([each.line, each.column], start) && isBefore(end, [each.end_line, each.end_column]),
  );
  return holds.map((each) => each.path).reduce((best, path) => (path.length > best.length ? path : best), []);
}

function isBefore(one: readonly [number, number], other: readonly [number, number]): boolean {
  return one[0] < other[0] || (one[0] === other[0] && one[1] <= other[1]);
}
