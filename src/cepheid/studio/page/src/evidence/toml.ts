// A scenario or an environment: chosen among those of the folder, looked at, changed and saved, or begun.
import { button, el, fill } from "../dom";
import { folderOf } from "../files";
import { problemList } from "../findings";
import { Studio } from "../studio";
import { NoAnswer } from "../talk";
import { draft, TomlKind } from "./drafts";

// What is changed here and not saved yet; the version is that of the disk, null where the file is new.
interface Changed {
  text: string;
  version: string | null;
}

interface Saved {
  version?: string;
  changed?: { text: string; version: string } | null;
}

export class Toml {
  readonly element: HTMLElement;
  private select: HTMLSelectElement;
  private area: HTMLTextAreaElement;
  private editing: HTMLElement;
  private editButton = button("Edit", () => void this.edit(!this.isEditing), { with: { "aria-expanded": "false" } });
  private newButton = button("", () => void this.begin(), { title: "Begin one with the types of the program that come from outside" });
  private saveButton = button("Save file", () => void this.save());
  private told = el("div", { with: { role: "status" } });
  private changed = new Map<string, Changed>();
  private version: string | null = null; // of the text in the area

  constructor(private studio: Studio, private kind: TomlKind) {
    const title = kind[0]?.toUpperCase() + kind.slice(1);
    const id = `toml-${kind}`;
    this.select = el("select", { id, on: { change: () => void this.edit(this.isEditing) } });
    this.area = el("textarea", { with: { "aria-label": `Text of the ${kind}`, spellcheck: "false", rows: 14 }, on: { input: () => this.type() } });
    this.editing = el("div", { class: "toml", with: { hidden: true } }, this.area, el("div", { class: "bar" }, this.saveButton, this.told));
    this.element = el(
      "div",
      {},
      el("div", { class: "bar" }, el("label", { with: { for: id } }, title), this.select, this.editButton, this.newButton),
      this.editing,
    );
    fill(this.newButton, `New ${kind}`);
    // Ctrl+S saves what one is typing in; the page would save the program.
    window.addEventListener(
      "keydown",
      (event) => {
        if (!(event.ctrlKey || event.metaKey) || event.key !== "s" || document.activeElement !== this.area) return;
        event.preventDefault();
        event.stopPropagation();
        void this.save();
      },
      true,
    );
    window.addEventListener("beforeunload", (event) => {
      if (this.changed.size) event.preventDefault();
    });
    studio.on("files", () => this.offer());
    studio.on("opened", () => this.offer(""));
    const see = () => (this.newButton.disabled = !studio.drawn); // the types are known then
    studio.on("graph", see);
    see();
    this.offer();
  }

  private get isEditing(): boolean {
    return !this.editing.hidden;
  }

  get name(): string {
    return this.select.value;
  }

  choose(name: string): void {
    this.offer(name);
    void this.edit(this.isEditing);
  }

  // What handlers take: as it is here where it was changed, else as it is on disk now.
  async given(): Promise<{ file: string; text: string }> {
    const { name } = this;
    if (!name) throw new NoAnswer([{ code: "usage", severity: "error", message: `there is no ${this.kind} in this folder`, hint: `begin one with “New ${this.kind}”`, file: null, line: null, column: null }]);
    const changed = this.changed.get(name);
    return { file: name, text: changed ? changed.text : (await this.read(name)).text };
  }

  private read(name: string): Promise<{ text: string; version: string }> {
    return this.studio.talk.ask<{ text: string; version: string }>("open", { file: name });
  }

  // Those beside the program or below it first.
  private offer(wanted = this.name): void {
    const own = folderOf(this.studio.open?.name ?? "");
    const rank = (name: string) => (folderOf(name) === own ? 0 : name.startsWith(own && `${own}/`) ? 1 : 2);
    const there = this.studio.files.filter((file) => file.kind === this.kind).map((file) => file.name);
    const names = [...new Set([...there, ...this.changed.keys()])].sort((a, b) => rank(a) - rank(b));
    fill(this.select, ...names.map((name) => el("option", { with: { value: name } }, this.changed.has(name) ? `${name} – not saved` : name)));
    if (!names.length) fill(this.select, el("option", { with: { value: "" } }, "none in this folder"));
    this.select.value = names.includes(wanted) ? wanted : (names[0] ?? "");
    this.select.disabled = !names.length;
    this.editButton.disabled = !names.length;
    this.saveButton.disabled = !this.changed.has(this.name);
  }

  private async edit(isShown: boolean): Promise<void> {
    const { name } = this;
    this.editing.hidden = !isShown || !name;
    this.editButton.setAttribute("aria-expanded", String(this.isEditing));
    fill(this.editButton, this.isEditing ? "Close" : "Edit");
    this.saveButton.disabled = !this.changed.has(name);
    fill(this.told);
    if (!this.isEditing) return;
    this.area.disabled = true; // until its text is there
    try {
      const found = this.changed.get(name) ?? (await this.read(name));
      if (name !== this.name) return;
      this.area.value = found.text;
      this.version = found.version;
      this.area.disabled = false;
    } catch (problem) {
      this.area.value = "";
      fill(this.told, problemList((problem as NoAnswer).problems));
    }
  }

  private type(): void {
    if (!this.name) return;
    this.changed.set(this.name, { text: this.area.value, version: this.version });
    this.offer();
  }

  private async begin(): Promise<void> {
    const own = folderOf(this.studio.open?.name ?? "");
    const known = new Set([...this.studio.files.map((file) => file.name), ...this.changed.keys()]);
    const named = (number: number) => `${own && `${own}/`}${this.kind}${number > 1 ? number : ""}.toml`;
    let number = 1;
    while (known.has(named(number))) number++;
    this.changed.set(named(number), { text: draft(this.kind, this.studio.drawn), version: null });
    this.offer(named(number));
    await this.edit(true);
    this.area.focus();
    this.area.setSelectionRange(0, 0);
    this.area.scrollTop = 0;
  }

  private async save(): Promise<void> {
    const { name } = this;
    const mine = this.changed.get(name);
    if (!mine) return;
    try {
      const said = await this.studio.talk.ask<Saved>("save", { file: name, text: mine.text, version: mine.version, again: mine.version !== null });
      if (said.version === undefined) {
        this.conflict(name, mine, said.changed ?? null);
        return;
      }
      this.version = said.version;
      // What was typed meanwhile is not saved.
      if (this.changed.get(name)?.text === mine.text) this.changed.delete(name);
      else this.changed.set(name, { text: this.area.value, version: said.version });
      fill(this.told, "Saved.");
      await this.studio.readFiles();
    } catch (problem) {
      fill(this.told, problemList((problem as NoAnswer).problems));
    }
  }

  private conflict(name: string, mine: Changed, disk: { text: string; version: string } | null): void {
    if (!disk) return;
    const keep = () => {
      this.changed.set(name, { ...mine, version: disk.version });
      void this.save();
    };
    const take = () => {
      this.changed.delete(name);
      this.offer(name);
      void this.edit(true);
    };
    fill(
      this.told,
      el("p", {}, "Someone else wrote this file meanwhile."),
      button("Keep mine", keep, { title: "Write what is here over the file" }),
      button("Take the one on disk", take, { title: "Throw away what is here" }),
    );
  }
}
