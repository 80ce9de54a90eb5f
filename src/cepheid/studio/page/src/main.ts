// The page: a header, the programs of the folder, views of the open one, and panels beside it.
import { arrowsBetween, button, el, fill } from "./dom";
import { filesPanel } from "./files";
import { findingsPanel } from "./findings";
import { historyKeysOfPage } from "./history";
import { readLink, writeLink } from "./links";
import { PANELS, Part, VIEWS } from "./parts";
import { Saving } from "./saving";
import { Hello, Studio } from "./studio";
import { NoAnswer, RETRY, Talk } from "./talk";
import { themeButton } from "./theme";
import { welcome } from "./welcome";

const meta = (name: string) => document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? "";

class Page {
  private studio: Studio;
  private message = el("p", { class: "message", with: { role: "status" } });
  private away = el("p", { class: "away", with: { role: "alert", hidden: true } });
  private timer = 0;

  constructor() {
    const token = encodeURIComponent(meta("token"));
    const talk = new Talk(`ws://${location.host}/talk?token=${token}`, (isOpen, reason) => {
      this.away.hidden = isOpen;
      fill(this.away, `The studio does not answer. ${reason || "Is it still running in the terminal?"}`);
    });
    this.studio = new Studio(talk);
  }

  async begin(): Promise<void> {
    const { studio } = this;
    document.body.append(this.away);
    while (!(await this.isReady())) await new Promise((done) => setTimeout(done, RETRY));
    this.build();
    void studio.talk.ask("warm").catch(() => undefined);
    const link = readLink();
    const programs = studio.files.filter((file) => file.kind === "program");
    const first = link.file ?? (programs.length === 1 ? programs[0]?.name : undefined);
    for (const name of link.together ?? []) await studio.join(name, true).catch(() => undefined);
    if (first) await this.open(first, link.line, true);
  }

  private async isReady(): Promise<boolean> {
    try {
      this.studio.hello = await this.studio.talk.ask<Hello>("hello");
      await this.studio.readFiles();
      return true;
    } catch {
      return false;
    }
  }

  private tell(text: string, isBad = false): void {
    fill(this.message, text);
    this.message.classList.toggle("bad", isBad);
    clearTimeout(this.timer);
    if (!isBad) this.timer = window.setTimeout(() => fill(this.message), 4000);
  }

  private mayLeaveFor(name: string): boolean {
    const { studio } = this;
    return !studio.isDirty || confirm(`${studio.open?.name} is not saved. Open ${name} and lose the changes?`);
  }

  private async open(name: string, line?: number, isStart = false): Promise<void> {
    const isOpen = this.studio.open?.name === name; // then what was changed in it stays
    if (!isOpen && !this.mayLeaveFor(name)) return;
    try {
      if (!isOpen) await this.studio.openFile(name, isStart);
      if (line) this.studio.goTo(line, 1);
    } catch (problem) {
      this.tell((problem as NoAnswer).message, true);
    }
  }

  private build(): void {
    const { studio } = this;
    const nonce = meta("nonce");
    const saving = new Saving(studio, nonce, (text, isBad) => this.tell(text, isBad));
    const views = parts(studio, nonce, "Views of the program", VIEWS, readLink().view, (view) => writeLink({ view }));
    const panels = parts(studio, nonce, "Panels", PANELS, readLink().panel, (panel) => writeLink({ panel }));
    const name = el("span", { class: "name" });
    const save = button("Save", () => void saving.save(), { title: "Save (Ctrl+S)" });
    const areas = areaSwitch();
    const main = el(
      "main",
      {},
      filesPanel(studio, (file) => void this.open(file).then(() => areas.show("program")), (file) => {
        if (!this.mayLeaveFor(file)) return;
        studio.newFile(file);
        areas.show("program");
      }),
      el("section", { class: "program", with: { "aria-label": "Program" } }, views.element, findingsPanel(studio)),
      el("section", { class: "beside", with: { "aria-label": "Try it" } }, panels.element),
    );
    const start = welcome(studio, (program) => void this.open(program));
    const showStart = () => {
      const isEmpty = !studio.open;
      start.hidden = !isEmpty;
      document.body.classList.toggle("fresh", isEmpty);
      fill(name, studio.open?.name ?? "", studio.isDirty && el("span", { class: "muted" }, " – not saved"));
      save.disabled = !studio.isDirty;
      document.title = `${studio.isDirty ? "● " : ""}${studio.open?.name ?? studio.hello.folder} – Cepheid Studio`;
    };
    main.append(start);
    for (const topic of ["opened", "text", "saved", "files"] as const) studio.on(topic, showStart);
    studio.on("opened", () => writeLink({ file: studio.open?.name, together: [...studio.together.keys()] }));
    for (const topic of ["run", "play"] as const) studio.on(topic, () => areas.show("beside"));
    studio.on("play", () => panels.show("try"));
    studio.on("evidence", () => {
      panels.show("evidence");
      areas.show("beside");
    });
    studio.on("elsewhere", () => studio.wanted && void this.open(studio.wanted.file, studio.wanted.line));
    studio.on("begin", () => {
      views.show("blocks");
      areas.show("program");
    });
    studio.on("opened-with", () => writeLink({ together: [...studio.together.keys()] }));
    studio.on("place", () => {
      if (!studio.place) return;
      views.show("text");
      areas.show("program");
      writeLink({ line: studio.place.line });
    });
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey)) return;
      if (event.key === "s") void saving.save();
      else if (event.key === "Enter") {
        panels.show("try");
        studio.tell("run");
      } else return;
      event.preventDefault();
      event.stopPropagation();
    }, true);
    historyKeysOfPage(studio);
    document.body.append(
      el(
        "header",
        {},
        el("h1", {}, "Cepheid Studio"),
        el("span", { class: "muted folder", title: "The folder" }, studio.hello.folder),
        name,
        areas.element,
        this.message,
        save,
        themeButton(() => window.dispatchEvent(new Event("resize"))),
      ),
      main,
    );
    showStart();
    studio.tell("files");
  }
}

// Parts of which one is shown, with tabs where there are several.
function parts(studio: Studio, nonce: string, label: string, known: Part[], first: string | undefined, told: (name: string) => void) {
  const all = known.map((part) => ({ ...part, element: part.make(studio, nonce) }));
  const tabs = el("div", { class: "tabs", with: { role: "tablist", "aria-label": label } });
  arrowsBetween(tabs);
  const show = (name: string) => {
    all.forEach((part, place) => {
      const isShown = part.name === name;
      part.element.hidden = !isShown;
      tabs.children[place]?.setAttribute("aria-selected", String(isShown));
      tabs.children[place]?.setAttribute("tabindex", isShown ? "0" : "-1");
    });
    told(name);
  };
  for (const part of all) {
    const id = `tab-${part.name}`;
    tabs.append(button(part.title, () => show(part.name), { id, with: { role: "tab" } }));
    part.element.classList.add("part");
    part.element.setAttribute("role", "tabpanel");
    part.element.setAttribute("aria-labelledby", id);
  }
  const begin = all.find((part) => part.name === first) ?? all[0];
  if (begin) show(begin.name);
  return { element: el("div", { class: "parts" }, tabs, ...all.map((part) => part.element)), show };
}

// On narrow screens one area is shown at a time.
function areaSwitch() {
  const names = { side: "Programs", program: "Program", beside: "Try it" };
  const show = (name: string) => {
    document.body.dataset.area = name;
    for (const each of element.children) each.setAttribute("aria-pressed", String((each as HTMLElement).dataset.area === name));
  };
  const element = el(
    "div",
    { class: "areas", with: { role: "group", "aria-label": "Areas" } },
    ...Object.entries(names).map(([name, title]) => button(title, () => show(name), { with: { "data-area": name } })),
  );
  show("program");
  return { element, show };
}

void new Page().begin();
