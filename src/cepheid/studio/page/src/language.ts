// Colours for programs. The words come from the studio, so that there is one list of them.
import { HighlightStyle, StreamLanguage, StringStream } from "@codemirror/language";
import { tags } from "@lezer/highlight";

interface State {
  isComment: boolean;
}

export function languageOf(keywords: string[]): StreamLanguage<State> {
  const known = new Set(keywords);
  return StreamLanguage.define<State>({
    startState: () => ({ isComment: false }),
    token: (stream, state) => token(stream, state, known),
    languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
  });
}

function token(stream: StringStream, state: State, known: Set<string>): string | null {
  if (state.isComment) {
    state.isComment = !stream.match(/.*?\*\//);
    if (state.isComment) stream.skipToEnd();
    return "comment";
  }
  if (stream.eatSpace()) return null;
  if (stream.match(/\/\/.*/)) return "comment";
  if (stream.match("/*")) {
    state.isComment = true;
    return "comment";
  }
  if (stream.match(/'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?/)) return "string";
  if (stream.match(/@\s*\w+/)) return "meta";
  if (stream.match(/\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?[a-zA-Z]?/)) return "number";
  const word = stream.match(/[\p{L}_$][\p{L}\p{N}_$]*/u) as RegExpMatchArray | null;
  if (word) return known.has(word[0].toLowerCase()) ? "keyword" : "variableName";
  stream.next();
  return null;
}

export const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, class: "code-keyword" },
  { tag: tags.string, class: "code-string" },
  { tag: tags.number, class: "code-number" },
  { tag: tags.comment, class: "code-comment" },
  { tag: tags.meta, class: "code-annotation" },
]);
