// Light, dark, or as the system has it; the choice is remembered.
import { button } from "./dom";

const KEY = "cepheid-theme";
const NEXT: Record<string, string> = { system: "light", light: "dark", dark: "system" };
const WORDS: Record<string, string> = { system: "Colours: system", light: "Colours: light", dark: "Colours: dark" };

export function themeButton(changed: () => void): HTMLButtonElement {
  let theme = read();
  const made = button("", () => {
    theme = NEXT[theme] ?? "system";
    localStorage.setItem(KEY, theme);
    apply();
    changed();
  }, { class: "quiet theme", title: "Light, dark, or as the system" });
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    made.textContent = WORDS[theme] ?? "";
  };
  apply();
  return made;
}

function read(): string {
  const found = localStorage.getItem(KEY) ?? "";
  return found in NEXT ? found : "system";
}
