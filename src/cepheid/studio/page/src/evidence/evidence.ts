// Evidence: what happens by chance, whether properties hold, and what may lead to an event.
import { arrowsBetween, button, el } from "../dom";
import { Studio } from "../studio";
import { Chance } from "./chance";
import { Properties } from "./properties";
import { Search } from "./search";
import { Simulate } from "./simulate";

export function evidencePanel(studio: Studio): HTMLElement {
  const chance = new Chance(studio);
  const search = new Search(studio);
  const parts = {
    Simulate: new Simulate(studio, chance).element,
    Properties: new Properties(studio, chance).element,
    Search: search.element,
  };
  const tabs = el("div", { class: "tabs", with: { role: "tablist", "aria-label": "Kinds of evidence" } });
  arrowsBetween(tabs);
  const show = (name: string) => {
    Object.entries(parts).forEach(([own, part], place) => {
      part.hidden = own !== name;
      tabs.children[place]?.setAttribute("aria-selected", String(own === name));
      tabs.children[place]?.setAttribute("tabindex", own === name ? "0" : "-1");
    });
    chance.element.hidden = name === "Search";
  };
  tabs.append(...Object.keys(parts).map((name) => button(name, () => show(name), { with: { role: "tab" } })));
  show("Simulate");
  // A file was chosen among those of the folder.
  studio.on("evidence", () => {
    const { wantedEvidence: file } = studio;
    if (!file) return;
    const isScenario = file.kind === "scenario";
    if (!isScenario || !search.element.hidden) show(isScenario ? "Simulate" : "Search");
    (isScenario ? chance.scenario : search.environment).choose(file.name);
  });
  return el("div", { class: "evidence" }, tabs, el("div", { class: "evidence-ground" }, chance.element, ...Object.values(parts)));
}
