// Files that the browser saves.
import { el } from "./dom";

export interface Made {
  name: string;
  text: string;
}

export function download({ name, text }: Made): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  el("a", { with: { href: url, download: name } }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
