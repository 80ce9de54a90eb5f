// What simulations and properties are about: a scenario, how long a run lasts, and the seed.
import { el } from "../dom";
import { Studio } from "../studio";
import { field, numberField, textField } from "./events";
import { Toml } from "./toml";

export class Chance {
  readonly element: HTMLElement;
  readonly scenario: Toml;
  private until = textField("", 18, "as the scenario says");
  private seed = numberField("0", { min: 0, max: 2 ** 50, step: 1 });

  constructor(studio: Studio) {
    this.scenario = new Toml(studio, "scenario");
    this.element = el("div", {}, this.scenario.element, el("div", { class: "bar" }, field("A run lasts", this.until), field("Seed", this.seed)));
  }

  async given(): Promise<object> {
    return { scenario: await this.scenario.given(), until: this.until.value.trim() || null, seed: Number(this.seed.value) };
  }
}
