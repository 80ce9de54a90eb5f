// The files of the folder, and a new program.
import { button, el, fill } from "./dom";
import { FileEntry, Studio } from "./studio";

export function filesPanel(studio: Studio, open: (name: string) => void, begin: (name: string) => void): HTMLElement {
  const list = el("ul", { class: "files" });
  const form = el("form", { class: "new", with: { hidden: true } });
  const others = el("div", { class: "others" });
  const show = () => {
    const programs = studio.files.filter((file) => file.kind === "program");
    fill(list, ...programs.map((file) => entry(studio, file, open)));
    fill(others, ...OTHERS.flatMap(([kind, title]) => group(studio, kind, title)));
  };
  const create = () => {
    const input = el("input", { id: "new-name", with: { value: "program.epl", required: true, spellcheck: "false" } });
    form.onsubmit = (event) => {
      event.preventDefault();
      form.hidden = true;
      const name = /\.\w+$/.test(input.value) ? input.value : `${input.value}.epl`;
      const isThere = studio.open?.name === name || studio.files.some((file) => file.name === name);
      (isThere ? open : begin)(name);
    };
    fill(form, el("label", { with: { for: "new-name" } }, "Name of the program"), input, el("button", { class: "main" }, "Create"));
    form.hidden = false;
    input.setSelectionRange(0, input.value.lastIndexOf("."));
    input.focus();
  };
  studio.on("files", show);
  studio.on("opened", show);
  studio.on("opened-with", show);
  studio.on("text", show);
  studio.on("saved", show);
  return el(
    "nav",
    { class: "side", with: { "aria-label": "Programs" } },
    el("h2", {}, "Programs"),
    list,
    button("New program", create, { class: "quiet" }),
    form,
    others,
  );
}

// What evidence is made of; a click chooses it there.
const OTHERS: [FileEntry["kind"], string][] = [["scenario", "Scenarios"], ["environment", "Environments"]];

function group(studio: Studio, kind: FileEntry["kind"], title: string): HTMLElement[] {
  const files = studio.open ? studio.files.filter((file) => file.kind === kind) : [];
  if (!files.length) return [];
  const use = (file: FileEntry) => el("li", {}, el("button", { class: "file", title: `${file.name}: look into it under Evidence`, with: { type: "button" }, on: { click: () => studio.lookInto(file) } }, ...nameAndFolder(file.name)));
  return [el("h2", {}, title), el("ul", { class: "files" }, ...files.map(use))];
}

function nameAndFolder(name: string): (string | HTMLElement)[] {
  const folder = folderOf(name);
  return [name.slice(name.lastIndexOf("/") + 1), ...(folder ? [el("span", { class: "muted" }, folder)] : [])];
}

export function folderOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf("/")));
}

function entry(studio: Studio, file: FileEntry, open: (name: string) => void): HTMLElement {
  const isOpen = studio.open?.name === file.name;
  const slash = file.name.lastIndexOf("/");
  const isNear = studio.open !== null && !isOpen && folderOf(studio.open.name) === folderOf(file.name);
  const box = el("input", { with: { type: "checkbox", "aria-label": `${file.name} together with the open program`, checked: studio.together.has(file.name) } });
  box.addEventListener("change", () => void studio.join(file.name, box.checked));
  return el(
    "li",
    {},
    el(
      "button",
      { class: "file", title: file.name, with: { type: "button", "aria-current": isOpen ? "true" : null }, on: { click: () => open(file.name) } },
      file.name.slice(slash + 1),
      isOpen && studio.isDirty && el("span", { title: "not saved yet" }, " ●"),
      slash >= 0 && el("span", { class: "muted" }, file.name.slice(0, slash)),
    ),
    isNear && el("label", { class: "together", title: "Read this file together with the open one, as one program" }, box, "together"),
  );
}
