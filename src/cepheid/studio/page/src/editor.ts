// The text of a program: colours, findings under what they are about, completion.
import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, isolateHistory, redo, undo } from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, Extension, Text } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { el } from "./dom";
import { COLOURS, languageOf } from "./language";
import { changeOf, offset, services } from "./services";
import { Studio } from "./studio";
import { Finding } from "./talk";

const SEVERITIES = { error: "error", warning: "warning", note: "info" } as const;

// What would be loaded from addresses in styles is drawn by borders and letters instead.
const LOOK = EditorView.theme({
  "&": { height: "100%", fontSize: "var(--size-code)" },
  ".cm-scroller": { fontFamily: "var(--font-code)", lineHeight: "1.5" },
  "&.cm-focused": { outline: "none" },
  ".cm-lintRange": { backgroundImage: "none", textDecoration: "underline wavy", textUnderlineOffset: "3px" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecorationColor: "var(--bad)" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecorationColor: "var(--odd)" },
  ".cm-lintRange-info": { backgroundImage: "none", textDecorationColor: "var(--note)" },
  ".cm-lintRange-active": { backgroundColor: "var(--chosen)" },
  ".cm-lint-marker": { width: "0.9em", height: "0.9em" },
  ".cm-lint-marker-error": { content: "normal" },
  ".cm-lint-marker-warning": { content: "normal" },
  ".cm-lint-marker-info": { content: "normal" },
});

export class Editor {
  readonly view: EditorView;
  private ending = "\n"; // of the lines of the file
  private isLoading = false;

  constructor(private studio: Studio, private nonce: string) {
    this.view = new EditorView({ state: this.stateOf("") });
    studio.on("opened", () => this.load());
    studio.on("findings", () => this.mark());
    studio.on("place", () => this.goTo());
    studio.on("edits", () => this.apply());
    studio.on("undo", () => undo(this.view));
    studio.on("redo", () => redo(this.view));
  }

  private extensions(): Extension[] {
    const { hello } = this.studio;
    return [
      EditorView.cspNonce.of(this.nonce),
      EditorView.contentAttributes.of({ "aria-label": "Text of the program" }),
      lineNumbers(),
      highlightActiveLineGutter(),
      highlightSpecialChars(),
      history(),
      drawSelection(),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      search({ top: true }),
      lintGutter(),
      languageOf(hello.keywords),
      syntaxHighlighting(COLOURS),
      ...services(this.studio),
      keymap.of([
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...completionKeymap,
        ...lintKeymap,
      ]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !this.isLoading) this.studio.edit(this.text());
      }),
      LOOK,
    ];
  }

  private stateOf(text: string): EditorState {
    return EditorState.create({ doc: text, extensions: this.extensions() });
  }

  private text(): string {
    return this.view.state.sliceDoc().replaceAll("\n", this.ending);
  }

  // A file was opened, or its text was taken from the disk.
  private load(): void {
    const text = this.studio.open?.text ?? "";
    this.ending = text.includes("\r\n") ? "\r\n" : "\n";
    this.isLoading = true;
    this.view.setState(this.stateOf(text));
    this.isLoading = false;
    this.view.scrollDOM.scrollTo(0, 0); // not where another text stood
  }

  private goTo(): void {
    const place = this.studio.place;
    if (!place) return;
    const at = offset(this.view.state.doc, place.line, place.column);
    this.view.dispatch({
      selection: { anchor: at },
      effects: EditorView.scrollIntoView(at, { y: "center" }),
    });
    this.view.focus();
  }

  // Edits that were chosen elsewhere, such as those of a fix, or drawn; each time they are one step of the history.
  private apply(): void {
    const { doc } = this.view.state;
    const changes = this.studio.edits.map((edit) => changeOf(doc, edit));
    this.view.dispatch({ changes, userEvent: "input.edits", annotations: isolateHistory.of("full"), scrollIntoView: true });
  }

  private mark(): void {
    const own = this.studio.findings.filter((each) => each.line !== null && each.file === this.studio.open?.name);
    const shown = own.map((each) => diagnosticOf(this.view.state.doc, each));
    this.view.dispatch(setDiagnostics(this.view.state, shown));
  }
}

function diagnosticOf(doc: Text, finding: Finding): Diagnostic {
  const from = offset(doc, finding.line ?? 1, finding.column ?? 1);
  // Of what is longer than a line, the first one is marked.
  const isLong = finding.end_line !== finding.line;
  const end = isLong ? doc.lineAt(from).to : offset(doc, finding.line ?? 1, finding.end_column ?? 1);
  return {
    from,
    to: Math.max(from, end),
    severity: SEVERITIES[finding.severity],
    message: finding.message,
    renderMessage: () =>
      el("div", {}, el("div", {}, finding.message), finding.hint && el("div", { class: "hint" }, finding.hint)),
  };
}
