// Files that the browser saves.
import { button, el } from "./dom";
import { closeByKeyAndClick } from "./menu";

export interface Made {
  name: string;
  text: string;
}

export function download({ name, text }: Made): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  el("a", { with: { href: url, download: name } }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

// What is asked for with the verbs that make files: all rows, those of the table that is shown, a report.
export interface Files {
  all: object;
  shown: object;
  report: object;
}

export function downloadMenu(save: (verb: string, asked: object) => void, files: () => Files): HTMLElement {
  const make = (text: string, verb: string, which: keyof Files, more: object = {}) =>
    button(text, () => {
      menu.open = false;
      save(verb, { ...files()[which], ...more });
    });
  const menu = el(
    "details",
    { class: "menu", title: "Files of this run" },
    el("summary", {}, "Download"),
    el(
      "div",
      { class: "menu-list" },
      make("All rows (JSON Lines)", "export", "all", { format: "jsonl" }),
      make("All rows (CSV)", "export", "all", { format: "csv" }),
      make("The table below (JSON Lines)", "export", "shown", { format: "jsonl" }),
      make("The table below (CSV)", "export", "shown", { format: "csv" }),
      make("Report (a page)", "report", "report"),
    ),
  );
  closeByKeyAndClick(menu);
  return menu;
}
