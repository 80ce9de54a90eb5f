// Lists that open at a button.

// Closes a list as such lists do: by Escape, or by a click elsewhere.
export function closeByKeyAndClick(menu: HTMLDetailsElement): void {
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target as Node)) menu.open = false;
  });
}
