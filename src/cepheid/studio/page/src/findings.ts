// What is wrong with the program, as a list; a click shows the place.
import { button, counted, el, fill } from "./dom";
import { Studio } from "./studio";
import { Finding } from "./talk";

const SIGNS = { error: "✕", warning: "!", note: "i" };
const RANKS = { error: 0, warning: 1, note: 2 };
const MOST_AT_ONCE = 5; // problems of a run; the others are folded away, so that they do not hide what was found
const WORDS = { error: "Error", warning: "Warning", note: "Note" };

export function findingsPanel(studio: Studio): HTMLElement {
  const summary = el("p", { class: "summary", with: { role: "status" } });
  const list = el("ul", { class: "findings" });
  const show = () => {
    fill(summary, summaryOf(studio));
    const worst = studio.findings.toSorted((a, b) => RANKS[a.severity] - RANKS[b.severity]);
    fill(list, ...worst.map((each) => line(studio, each)));
  };
  studio.on("findings", show);
  studio.on("text", show);
  studio.on("opened", show);
  return el("section", { class: "below", with: { "aria-label": "What is wrong" } }, summary, list);
}

export function summaryOf(studio: Studio): string {
  if (!studio.open) return "";
  const parts = (["error", "warning", "note"] as const)
    .map((severity) => [severity, studio.findings.filter((each) => each.severity === severity).length] as const)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => counted(count, severity));
  const more = studio.isChecking ? (parts.length ? ", looking further …" : "Looking …") : "";
  return (parts.join(", ") || (studio.isChecking ? "" : "Nothing to complain about.")) + more;
}

function line(studio: Studio, finding: Finding): HTMLElement {
  const isElsewhere = finding.file !== null && finding.file !== studio.open?.name;
  const file = isElsewhere ? `${finding.file?.split("/").at(-1)}, ` : "";
  const place = finding.line === null ? "" : `${file}line ${finding.line}`;
  const go = () => finding.line !== null && studio.goTo(finding.line, finding.column ?? 1, finding.file);
  return el(
    "li",
    {},
    el(
      "button",
      { class: `finding ${finding.severity}`, with: { type: "button" }, on: { click: go } },
      el("span", { class: "sign", title: WORDS[finding.severity], with: { role: "img", "aria-label": WORDS[finding.severity] } }, SIGNS[finding.severity]),
      el("span", { class: "fact" }, finding.message, finding.hint && el("span", { class: "hint" }, finding.hint)),
      el("span", { class: "muted" }, place),
    ),
    ...fixes(studio, finding),
    finding.witness &&
      button("Play it", () => studio.playEvents(finding.witness ?? []), { class: "play", title: "Run the events that show it" }),
  );
}

// What can be done about it in the open text, as long as that is the one in which it was found.
function fixes(studio: Studio, finding: Finding): HTMLElement[] {
  const { open } = studio;
  if (!open || finding.text !== open.text) return [];
  const own = (finding.fixes ?? []).filter((fix) => fix.edits.every((edit) => edit.file === open.name));
  return own.map((fix) =>
    button(fix.title, () => studio.change(fix.edits, finding.text), { class: "play fix", title: `Change the text: ${fix.title}` }),
  );
}

// Findings of what has no place in the text: a run, a file.
export function problemList(problems: Finding[]): HTMLElement {
  if (problems.length <= MOST_AT_ONCE) return allOf(problems);
  const more = problems.slice(MOST_AT_ONCE);
  return el(
    "div",
    {},
    allOf(problems.slice(0, MOST_AT_ONCE)),
    el("details", { class: "more" }, el("summary", {}, `${more.length.toLocaleString("en")} more`), allOf(more)),
  );
}

function allOf(problems: Finding[]): HTMLElement {
  return el(
    "ul",
    { class: "findings" },
    ...problems.map((each) =>
      el(
        "li",
        { class: `finding ${each.severity}` },
        el("span", { class: "sign", with: { role: "img", "aria-label": WORDS[each.severity] } }, SIGNS[each.severity]),
        el(
          "span",
          { class: "fact" },
          each.file && each.line ? `${each.file.split("/").at(-1)}, line ${each.line}: ` : null,
          each.message,
          each.hint && el("span", { class: "hint" }, each.hint),
        ),
      ),
    ),
  );
}
