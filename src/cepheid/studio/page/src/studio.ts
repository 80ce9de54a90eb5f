// What all parts of the page share: the open program, what is known of it, and who wants to hear of changes.
import { Property } from "./evidence/properties";
import { Finding, NoAnswer, OwnEdit, Place, Question, Talk } from "./talk";

export interface Hello {
  version: string;
  folder: string;
  trusted: boolean;
  keywords: string[];
  programs: string[];
  events: string[];
  examples: { name: string; title: string; about: string }[];
}

export interface FileEntry {
  name: string;
  size: number;
  kind: "program" | "events" | "scenario" | "environment";
}

export interface Box {
  key: string;
  lines: string[];
  level: number;
  input: boolean;
  x: number;
  y: number;
  width: number;
  height: number;
  place: Place | null;
}

export interface Drawn {
  width: number;
  height: number;
  boxes: Box[];
  edges: { from: string; to: string; path: string; cycle: boolean }[];
  types: Record<string, { name: string; type: string }[]>;
  looks: Record<string, { icon: string; description: string }>;
  inputs: string[];
  times: Record<string, string>;
  units: Record<string, string>; // in which the attributes that hold times count
  statements: string[];
  derived: string[];
  properties: Property[];
}

// What a run is over, as the studio's verbs take it.
export type Given = ({ events: string; seed?: number } | { files: string[] } | { lines: string[] }) & { without?: string[] };

// A file as it is in the editor. `version` is that of the disk when it was opened; null: not there yet.
export interface Open {
  name: string;
  text: string;
  saved: string;
  version: string | null;
}

// What others can hear of; each says what the studio then has.
export type Topic = "files" | "opened" | "text" | "saved" | "findings" | "graph" | "place" | "play" | "run" | "opened-with" | "elsewhere" | "edits" | "events" | "evidence" | "undo" | "redo" | "begin";

const QUICK = 60; // milliseconds without a key until the quick check
const FULL = 600; // and until the full one

export class Studio {
  hello!: Hello;
  files: FileEntry[] = [];
  open: Open | null = null;
  findings: Finding[] = [];
  isChecking = false;
  drawn: Drawn | null = null;
  isDrawnOld = false; // the graph is that of an earlier text, as this one cannot be read
  place: { line: number; column: number } | null = null; // where the text is to be shown

  together = new Map<string, string>(); // other files of the program, with their texts
  wanted: { file: string; line: number } | null = null; // a place in another file
  played: string[] = []; // events that show something,
  playedAs = ""; // and what they are called
  wantedEvidence: FileEntry | null = null; // a scenario or an environment that is to be looked into
  without: string[] = []; // statements that are left out of runs

  begun = ""; // the type of events from which a new statement is to be drawn

  edits: OwnEdit[] = []; // of the open text, which whoever shows it is to make

  given: () => Given = () => ({ lines: [] }); // the events to run over, and what is left out

  private listeners = new Map<Topic, (() => void)[]>();
  private timers: number[] = [];
  private questions: Question<unknown>[] = [];

  constructor(readonly talk: Talk) {}

  on(topic: Topic, act: () => void): void {
    this.listeners.set(topic, [...(this.listeners.get(topic) ?? []), act]);
  }

  tell(topic: Topic): void {
    for (const act of this.listeners.get(topic) ?? []) act();
  }

  get isDirty(): boolean {
    return this.open !== null && (this.open.text !== this.open.saved || this.open.version === null);
  }

  // What handlers take as a program.
  texts(): { file: string; text: string }[] {
    if (!this.open) return [];
    const own = { file: this.open.name, text: this.open.text };
    return [own, ...[...this.together].map(([file, text]) => ({ file, text }))];
  }

  // Whether another file is a part of the program; the text is that on the disk.
  async join(name: string, isPart: boolean): Promise<void> {
    if (isPart) this.together.set(name, (await this.talk.ask<{ text: string }>("open", { file: name })).text);
    else this.together.delete(name);
    this.tell("opened-with");
    this.check(0);
  }

  async readFiles(): Promise<void> {
    const found = await this.talk.ask<{ files: FileEntry[] }>("files");
    this.files = found.files;
    this.tell("files");
  }

  // What was put into the folder meanwhile; where that is nothing, what is shown stays, with its focus.
  async lookForFiles(): Promise<void> {
    const { files } = await this.talk.ask<{ files: FileEntry[] }>("files");
    if (JSON.stringify(files) === JSON.stringify(this.files)) return;
    this.files = files;
    this.tell("files");
  }

  // Another file; the files of one program stay together.
  async openFile(name: string, isKept = false): Promise<void> {
    const last = this.open;
    const found = await this.talk.ask<{ text: string; version: string }>("open", { file: name });
    if (this.together.has(name) && last) this.together.set(last.name, last.saved);
    else if (!isKept) this.together.clear();
    this.show({ name, text: found.text, saved: found.text, version: found.version });
  }

  // A program that is not on the disk before it is saved.
  newFile(name: string): void {
    this.together.clear();
    this.show({ name, text: "", saved: "", version: null });
  }

  show(open: Open): void {
    this.open = open;
    this.findings = [];
    this.isChecking = true; // before anyone says that nothing was found
    this.drawn = null;
    this.isDrawnOld = false;
    this.place = null;
    this.played = [];
    this.together.delete(open.name);
    this.tell("opened");
    this.tell("findings");
    this.tell("graph");
    this.check(0);
  }

  // The text changed; whoever changed it shows it already.
  edit(text: string): void {
    if (!this.open || this.open.text === text) return;
    this.open.text = text;
    this.isChecking = true;
    this.tell("text");
    this.check(QUICK);
  }

  // Edits that were thought of for a text; nothing happens where it is not that any more.
  change(edits: OwnEdit[], of: string | undefined): void {
    if (of?.replaceAll("\r\n", "\n") !== this.open?.text.replaceAll("\r\n", "\n")) return;
    this.edits = edits;
    this.tell("edits");
  }

  // Shows a place; in another file of the program, whoever asks is asked about unsaved changes first.
  goTo(line: number, column: number, file?: string | null): void {
    if (file && this.open && file !== this.open.name) {
      this.wanted = { file, line };
      this.tell("elsewhere");
      return;
    }
    this.place = { line, column };
    this.tell("place");
  }

  // Opens the blocks of a new statement.
  beginWith(type: string): void {
    this.begun = type;
    this.tell("begin");
  }

  playEvents(lines: string[], title = "Events that show a finding"): void {
    this.played = lines;
    this.playedAs = title;
    this.tell("play");
  }

  lookInto(file: FileEntry): void {
    this.wantedEvidence = file;
    this.tell("evidence");
  }

  private check(wait: number): void {
    for (const timer of this.timers.splice(0)) clearTimeout(timer);
    this.isChecking = true;
    this.timers.push(window.setTimeout(() => void this.look("quick-check"), wait));
    this.timers.push(window.setTimeout(() => void this.look("check"), wait + FULL - QUICK));
  }

  private async look(verb: "quick-check" | "check"): Promise<void> {
    const open = this.open;
    if (!open) return;
    const asked = open.text;
    const parts = [...this.together.keys()].join("\n");
    if (verb === "check") for (const old of this.questions.splice(0)) old.cancel();
    const question = this.talk.ask<{ findings: Finding[] }>(verb, { texts: this.texts() });
    if (verb === "check") this.questions.push(question);
    else void this.draw(asked);
    try {
      const { findings } = await question;
      if (this.open !== open || open.text !== asked || parts !== [...this.together.keys()].join("\n")) return;
      for (const each of findings) each.text = asked;
      // The quick check does not know what the full one found; its findings stand until that is done.
      const kept = verb === "check" ? [] : this.findings.filter((each) => each.severity !== "error");
      this.findings = findings.some((each) => each.severity === "error") ? findings : [...findings, ...kept];
      if (verb === "check") this.isChecking = false;
      if (verb === "check" && !this.drawn) void this.draw(asked); // the quick process may have been slow to begin
    } catch (problem) {
      if (!(problem instanceof NoAnswer) || problem.isStopped || open.text !== asked) return;
      this.findings = problem.problems;
      this.isChecking = false;
    }
    this.tell("findings");
  }

  // A process that has just been started may take too long, and is asked once more.
  private async draw(asked: string, tries = 3): Promise<void> {
    try {
      const drawn = await this.talk.ask<Drawn>("draw", { texts: this.texts() });
      if (this.open?.text !== asked) return;
      this.drawn = drawn;
      this.isDrawnOld = false;
    } catch (problem) {
      const isLate = problem instanceof NoAnswer && problem.problems.some((each) => each.code === "too-large");
      if (isLate && tries > 1 && this.open?.text === asked) return this.draw(asked, tries - 1);
      this.isDrawnOld = true;
    }
    this.tell("graph");
  }
}
