// What a new job is started with: a form that becomes a command, which is shown before it is started.
import { button, el, fill } from "./dom";
import { problemList } from "./findings";
import { Studio } from "./studio";
import { Finding, NoAnswer } from "./talk";

interface Offer {
  name: string;
  unsaved: string[];
  folders: { name: string; files: number; source: string }[];
  events: string[];
  types: string[];
  actions: string[];
  places: { checkpoint: string; sink: string; out: string; outbox: string };
}

type Kind = "stream" | "run";
const WAIT = 150; // milliseconds without a key until the command is asked for

export class JobForm {
  readonly element: HTMLFormElement;
  private kind = el(
    "select",
    { on: { change: () => this.arrange() } },
    el("option", { with: { value: "stream" } }, "a stream on Spark: a folder of events"),
    el("option", { with: { value: "run" } }, "a batch: events that are there"),
  );
  private name = text("");
  private source = el("select");
  private events = el("select");
  private sink = text("nowhere: into the log");
  private out = text("nowhere: into the log");
  private checkpoint = text("");
  private watermark = text("10s");
  private type = el("select");
  private trigger = text("as soon as they come");
  private late = text("only counted");
  private rejects = text("only counted");
  private once = check();
  private why = check();
  private outbox = text("nowhere: no action is put anywhere");
  private fields: HTMLElement[];
  private streams: HTMLElement[];
  private batches: HTMLElement[];
  private wanting: HTMLElement;
  private notice = el("p", { class: "notice", with: { role: "status" } });
  private command = el("code");
  private problems = el("div");
  private start = el("button", { class: "main" }, "Start");
  private offer: Offer | null = null;
  private timer = 0;
  private asked = 0;

  constructor(private studio: Studio, private started: (name: string) => void) {
    const more = el(
      "details",
      {},
      el("summary", {}, "More"),
      field("Only rows of", this.type),
      field("Take events every", this.trigger),
      field("Late events into", this.late),
      field("What is no event into", this.rejects),
      field("Take what is there, and end", this.once),
    );
    this.streams = [
      field("Events of the folder", this.source),
      field("Rows into the folder", this.sink),
      field("Checkpoint", this.checkpoint, "Where it keeps what it knows, to go on from."),
      field("Late by at most", this.watermark, "How long after later events an event may come."),
      more,
    ];
    this.wanting = field("Actions into the outbox", this.outbox, "Nothing is done yet: that comes after a dry run.");
    this.batches = [
      field("Events", this.events),
      field("Rows into the file", this.out),
      this.wanting,
      field("Say why of each row", this.why),
    ];
    this.fields = [field("Run it as", this.kind), field("Name", this.name), ...this.streams, ...this.batches];
    this.element = el(
      "form",
      { class: "job-form", with: { hidden: true, "aria-label": "A new job" }, on: { submit: (event) => void this.submit(event), input: () => this.later() } },
      this.notice,
      ...this.fields,
      el("pre", { class: "command", title: "The same on the command line" }, this.command),
      this.problems,
      el("div", { class: "bar" }, this.start, button("Cancel", () => this.toggle(false))),
    );
    for (const topic of ["opened", "opened-with", "saved", "text"] as const) studio.on(topic, () => this.later(true));
    this.arrange();
  }

  toggle(isOn = this.element.hidden): void {
    this.element.hidden = !isOn;
    this.offer = null;
    if (isOn) void this.ask().then(() => this.kind.focus());
  }

  private later(isOther = false): void {
    if (this.element.hidden) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void (isOther ? this.ask() : this.preview()), WAIT);
  }

  // What the open program can be started with; what someone has filled in stays, unless another program is open.
  private async ask(): Promise<void> {
    const texts = this.studio.texts();
    if (!this.offer) {
      fill(this.notice, texts.length ? "Looking at the program and the folder …" : "Open a program first.");
      this.start.disabled = true;
    }
    if (!texts.length) return;
    const number = ++this.asked;
    const offer = await this.studio.talk.ask<Offer>("job-offer", { texts }).catch((problem: NoAnswer) => {
      fill(this.problems, problemList(problem.problems));
      return null;
    });
    if (!offer || number !== this.asked) return;
    const isNew = this.offer === null || this.offer.name !== offer.name;
    this.offer = offer;
    const isUnsaved = offer.unsaved.length > 0;
    fill(this.notice, isUnsaved && `${offer.unsaved.join(", ")} is not saved: a job runs what is saved. Press Ctrl+S.`);
    if (isNew) this.begin(offer);
    await this.preview();
  }

  private begin(offer: Offer): void {
    const { places } = offer;
    this.name.value = offer.name;
    const files = (count: number) => (count === 1 ? "1 file" : `${count} files`);
    fill(this.source, ...offer.folders.map((each) => el("option", { with: { value: each.source } }, `${each.name} (${files(each.files)})`)));
    fill(this.events, ...offer.events.map((name) => el("option", {}, name)));
    fill(this.type, el("option", { with: { value: "" } }, "all types"), ...offer.types.map((name) => el("option", {}, name)));
    this.sink.value = places.sink;
    this.out.value = places.out;
    this.checkpoint.value = places.checkpoint;
    this.outbox.value = offer.actions.length ? places.outbox : "";
    this.why.checked = true;
    const own = this.studio.open?.name.split("/").slice(0, -1).join("/") ?? "";
    const near = offer.folders.find((each) => each.name === own) ?? offer.folders[0];
    if (near) this.source.value = near.source;
    const beside = offer.events.find((name) => own !== "" && name.startsWith(`${own}/`));
    if (beside) this.events.value = beside;
    this.kind.value = offer.folders.length ? "stream" : "run";
    this.arrange();
  }

  private arrange(): void {
    const isStream = this.kind.value === "stream";
    for (const each of this.streams) each.hidden = !isStream;
    for (const each of this.batches) each.hidden = isStream;
    if (!this.offer?.actions.length) this.wanting.hidden = true;
    void this.preview();
  }

  private given(): object {
    const kind = this.kind.value as Kind;
    const own = { command: kind, name: this.name.value.trim(), texts: this.studio.texts() };
    if (kind === "run") {
      return { ...own, events: this.events.value, out: value(this.out), outbox: this.wanting.hidden ? null : value(this.outbox), why: this.why.checked };
    }
    return {
      ...own,
      source: this.source.value,
      sink: value(this.sink),
      checkpoint: value(this.checkpoint),
      watermark: value(this.watermark),
      output: this.type.value || null,
      trigger: value(this.trigger),
      late: value(this.late),
      rejects: value(this.rejects),
      once: this.once.checked,
    };
  }

  private async preview(): Promise<void> {
    if (!this.offer) return;
    const number = ++this.asked;
    try {
      const found = await this.studio.talk.ask<{ command: string; problems: Finding[] }>("job-preview", this.given());
      if (number !== this.asked) return;
      fill(this.command, found.command);
      fill(this.problems, ...this.hints(), found.problems.length > 0 && problemList(found.problems));
      this.start.disabled = found.problems.length > 0 || this.offer.unsaved.length > 0;
    } catch (problem) {
      fill(this.problems, problemList((problem as NoAnswer).problems));
    }
  }

  private hints(): HTMLElement[] {
    const { offer } = this;
    const isStream = this.kind.value === "stream";
    const said = [
      isStream && !offer?.folders.length && "There is no folder of events here. A stream reads one, to which files are added.",
      isStream && offer?.actions.length && `A stream of statements does no actions (${offer.actions.join(", ")}); a batch puts them into an outbox.`,
    ];
    return said.filter((each) => each).map((each) => el("p", { class: "hint" }, String(each)));
  }

  private async submit(event: Event): Promise<void> {
    event.preventDefault();
    this.start.disabled = true;
    fill(this.start, "Starting …");
    try {
      const { name } = await this.studio.talk.ask<{ name: string }>("job-start", this.given());
      this.toggle(false);
      this.started(name);
    } catch (problem) {
      fill(this.problems, problemList((problem as NoAnswer).problems));
    } finally {
      fill(this.start, "Start");
      this.start.disabled = false;
    }
  }
}

function text(placeholder: string): HTMLInputElement {
  return el("input", { with: { placeholder, spellcheck: "false", autocomplete: "off" } });
}

function check(): HTMLInputElement {
  return el("input", { with: { type: "checkbox" } });
}

function field(label: string, input: HTMLElement, hint = ""): HTMLElement {
  return el("label", { class: "field" }, el("span", {}, label), input, hint && el("span", { class: "hint" }, hint));
}

function value(input: HTMLInputElement): string | null {
  return input.value.trim() || null;
}
