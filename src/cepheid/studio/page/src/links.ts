// Addresses that lead to a place: #file=alarms.epl&view=graph&line=12
export interface Link {
  file?: string | undefined;
  view?: string | undefined;
  panel?: string | undefined;
  line?: number | undefined;
  together?: string[] | undefined; // other files of the program
}

export function readLink(): Link {
  const found = new URLSearchParams(location.hash.slice(1));
  const line = Number(found.get("line"));
  return {
    file: found.get("file") ?? undefined,
    view: found.get("view") ?? undefined,
    panel: found.get("panel") ?? undefined,
    together: found.getAll("with"),
    line: Number.isInteger(line) && line > 0 ? line : undefined,
  };
}

// What is not named stays, but for the line, which belongs to its file.
export function writeLink(link: Link): void {
  const now = readLink();
  const next = { ...now, ...link };
  if (link.file !== undefined && link.file !== now.file && link.line === undefined) next.line = undefined;
  const text = new URLSearchParams();
  const { together, ...others } = next;
  for (const [name, value] of Object.entries(others)) if (value !== undefined) text.set(name, String(value));
  for (const name of together ?? []) text.append("with", name);
  history.replaceState(null, "", `${location.pathname}${location.search}#${text.toString()}`);
}
