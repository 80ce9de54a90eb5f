// What the editor asks about a place in the text: completion, what stands there, where it is declared, another name.
import { autocompletion, Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { EditorState, Extension, Text } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap, showDialog, Tooltip } from "@codemirror/view";
import { el } from "./dom";
import { Studio } from "./studio";
import { NoAnswer, OwnEdit, Place, TextEdit } from "./talk";

interface Offer {
  label: string;
  sort: string;
  written: string;
  detail: string;
  place: Place;
}

const HOVER = 400; // milliseconds over a word until it is explained

export function services(studio: Studio): Extension[] {
  return [
    autocompletion({ override: [(context) => complete(studio, context)], icons: false }),
    hoverTooltip((view, at) => describe(studio, view, at), { hoverTime: HOVER }),
    keymap.of([
      { key: "F12", run: (view) => act(goToDefinition(studio, view.state, view.state.selection.main.head)) },
      { key: "F2", run: (view) => act(rename(studio, view)) },
    ]),
    EditorView.domEventHandlers({
      mousedown: (event, view) => {
        const at = event.button === 0 && (event.ctrlKey || event.metaKey) ? view.posAtCoords({ x: event.clientX, y: event.clientY }) : null;
        return at !== null && act(goToDefinition(studio, view.state, at));
      },
    }),
  ];
}

// Findings count characters, and lines from one; editors count what UTF-16 is made of.
export function offset(doc: Text, line: number, column: number): number {
  const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const before = [...found.text].slice(0, column - 1).join("");
  return found.from + before.length;
}

// What an edit of the open text is to the editor.
export function changeOf(doc: Text, edit: OwnEdit): { from: number; to: number; insert: string } {
  return { from: offset(doc, edit.line, edit.column), to: offset(doc, edit.end_line, edit.end_column), insert: edit.replacement };
}

function act(done: Promise<void>): true {
  done.catch(() => undefined); // the connection went, which the page says
  return true;
}

function ask<T>(studio: Studio, verb: string, state: EditorState, at: number, more: object = {}): Promise<T> {
  const line = state.doc.lineAt(at);
  const column = [...line.text.slice(0, at - line.from)].length + 1;
  return studio.talk.ask<T>(verb, { texts: studio.texts(), file: studio.open?.name, line: line.number, column, ...more });
}

async function complete(studio: Studio, context: CompletionContext): Promise<CompletionResult | null> {
  if (!context.explicit && !context.matchBefore(/[\p{L}\p{N}_.@#:]/u)) return null;
  try {
    const found = await ask<Offer[]>(studio, "complete", context.state, context.pos);
    const first = found[0];
    if (!first) return null;
    return {
      from: offset(context.state.doc, first.place.line, first.place.column),
      options: found.map(optionOf),
      validFor: /^[\p{L}\p{N}_]*$/u,
    };
  } catch {
    return null;
  }
}

function optionOf(offer: Offer): Completion {
  // What belongs to the program comes before the words of the language.
  return { label: offer.label, apply: offer.written, detail: offer.detail || offer.sort, boost: offer.sort === "keyword" ? -1 : 0 };
}

async function describe(studio: Studio, view: EditorView, at: number): Promise<Tooltip | null> {
  try {
    const found = await ask<{ code: string; text: string; place: Place } | null>(studio, "describe", view.state, at);
    if (!found) return null;
    const { doc } = view.state;
    return {
      pos: offset(doc, found.place.line, found.place.column),
      end: offset(doc, found.place.end_line, found.place.end_column),
      create: () => ({ dom: el("div", { class: "told" }, el("code", {}, found.code), el("p", { class: "hint" }, found.text)) }),
    };
  } catch {
    return null;
  }
}

async function goToDefinition(studio: Studio, state: EditorState, at: number): Promise<void> {
  const [place] = await ask<Place[]>(studio, "definition", state, at);
  if (place) studio.goTo(place.line, place.column, place.file);
}

async function rename(studio: Studio, view: EditorView): Promise<void> {
  const { state } = view;
  const at = state.selection.main.head;
  const word = state.wordAt(at) ?? state.wordAt(at + 1); // of a text in quotes, what stands in it
  const old = word ? state.sliceDoc(word.from, word.to) : "";
  const form = await showDialog(view, {
    label: `Another name${old && ` for ${old}`}`,
    input: { name: "name", value: old, spellcheck: "false" },
    submitLabel: "Rename",
    focus: true,
  }).result;
  const name = form && new FormData(form).get("name");
  view.focus();
  if (typeof name !== "string" || !name || name === old || !view.state.doc.eq(state.doc)) return;
  try {
    const edits = await ask<TextEdit[]>(studio, "rename", state, at, { name });
    const other = edits.find((edit) => edit.file !== studio.open?.name);
    if (other) say(view, `It stands in ${other.file} as well, and only the open file can be changed here.`);
    else studio.change(edits, state.sliceDoc());
  } catch (problem) {
    say(view, (problem as NoAnswer).message);
  }
}

function say(view: EditorView, text: string): void {
  showDialog(view, { label: text, focus: "button" });
}
