// What an empty folder shows: examples to begin with.
import { el } from "./dom";
import { problemList } from "./findings";
import { Studio } from "./studio";
import { NoAnswer } from "./talk";

export function welcome(studio: Studio, begin: (program: string) => void): HTMLElement {
  const problems = el("div");
  const choose = async (example: string) => {
    try {
      const made = await studio.talk.ask<{ program: string }>("begin", { example });
      await studio.readFiles();
      begin(made.program);
    } catch (problem) {
      problems.replaceChildren(problemList((problem as NoAnswer).problems ?? []));
    }
  };
  return el(
    "section",
    { class: "welcome", with: { "aria-label": "Welcome" } },
    el("h2", {}, "Find patterns in events"),
    el(
      "p",
      {},
      "A program says which events matter, in which order and how close together. Choose an example to see one at work: it is copied into this folder, and yours to change.",
    ),
    problems,
    el(
      "ul",
      { class: "cards" },
      ...studio.hello.examples.map((example) =>
        el(
          "li",
          {},
          el(
            "button",
            { class: "card", with: { type: "button" }, on: { click: () => void choose(example.name) } },
            el("strong", {}, example.title),
            el("span", {}, example.about),
          ),
        ),
      ),
    ),
  );
}
