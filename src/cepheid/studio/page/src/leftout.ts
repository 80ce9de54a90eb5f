// Statements that are left out of runs; they stay in the text.
import { el, fill } from "./dom";
import { closeByKeyAndClick } from "./menu";
import { Studio } from "./studio";

export function statementsMenu(studio: Studio): HTMLElement {
  const list = el("div", { class: "menu-list" });
  const summary = el("summary", {}, "Statements");
  const element = el("details", { class: "menu", title: "Which statements run" }, summary, list);
  const draw = () => {
    const names = studio.drawn?.statements ?? [];
    studio.without = studio.without.filter((name) => names.includes(name));
    const count = studio.without.length;
    fill(summary, "Statements", count > 0 && el("span", { class: "count" }, `${count} off`));
    fill(
      list,
      !names.length && el("p", { class: "empty" }, "The program has no statements."),
      ...names.map((name) => choice(name, !studio.without.includes(name), (isOn) => {
        studio.without = isOn ? studio.without.filter((other) => other !== name) : [...studio.without, name];
        fill(summary, "Statements", studio.without.length > 0 && el("span", { class: "count" }, `${studio.without.length} off`));
        studio.tell("events");
      })),
    );
  };
  studio.on("graph", () => {
    if (studio.drawn) draw(); // a text that cannot be read changes nothing
  });
  studio.on("opened", () => {
    studio.without = [];
  });
  closeByKeyAndClick(element);
  draw();
  return element;
}

function choice(name: string, isOn: boolean, act: (isOn: boolean) => void): HTMLElement {
  const box = el("input", { with: { type: "checkbox", checked: isOn } });
  box.addEventListener("change", () => act(box.checked));
  return el("label", {}, box, name);
}
