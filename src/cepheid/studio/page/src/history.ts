// Undo and redo, in whichever view: the history is that of the text.
import { Studio } from "./studio";

// Fields in which something is being typed have a history of their own until it is told.
export function historyKeys(element: HTMLElement, studio: Studio): void {
  element.addEventListener("keydown", (event) => {
    if (!isTyping(event.target as HTMLElement)) goInHistory(event, studio);
  });
}

// Where nothing has the focus, as after a fix whose button went with it; a browser would undo in any field.
export function historyKeysOfPage(studio: Studio): void {
  document.addEventListener("keydown", (event) => {
    if (event.target === document.body) goInHistory(event, studio);
  });
}

function goInHistory(event: KeyboardEvent, studio: Studio): void {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || !["z", "y", "Z"].includes(event.key)) return;
  studio.tell(event.key === "z" && !event.shiftKey ? "undo" : "redo");
  event.preventDefault();
}

function isTyping(target: HTMLElement): boolean {
  if (target instanceof HTMLInputElement) return target.type !== "checkbox" && target.dataset.told !== target.value;
  return target instanceof HTMLTextAreaElement && target.dataset.told !== target.value;
}
