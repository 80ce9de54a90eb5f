// What depends on what: events from outside on the left, what is made of them to the right.
import { button, counted, el, fill, svg } from "./dom";
import { Box, Studio } from "./studio";
import { Finding } from "./talk";

const LINE = 16;
const KINDS: Record<string, string> = { type: "events", statement: "statement", action: "action" };

export function graphView(studio: Studio): HTMLElement {
  const note = el("p", { class: "summary", with: { role: "status" } });
  const ground = el("div", { class: "graph-ground" });
  let zoom: number | null = null; // null: as there is room
  let scale = 1;
  const show = () => {
    const { drawn } = studio;
    ground.classList.toggle("old", studio.isDrawnOld);
    fill(note, noteOf(studio));
    if (!drawn) {
      fill(ground, el("p", { class: "empty" }, "There is no graph yet: the text cannot be read."));
      return;
    }
    scale = zoom ?? Math.min(1.2, Math.max(0.5, (ground.clientWidth - 20) / drawn.width));
    const picture = svg(
      "svg",
      {
        viewBox: `0 0 ${drawn.width} ${drawn.height}`,
        width: drawn.width * scale,
        height: drawn.height * scale,
        role: "group",
        "aria-label": "Graph of the program",
      },
      svg("defs", {}, arrow("arrow"), arrow("back")),
      ...drawn.edges.map((edge) =>
        svg("path", {
          d: edge.path,
          class: edge.cycle ? "edge cycle" : "edge",
          "marker-end": edge.cycle ? "url(#back)" : "url(#arrow)",
        }),
      ),
      ...drawn.boxes.map((box) => boxOf(studio, box)),
    );
    fill(ground, picture);
  };
  const change = (factor: number) => {
    zoom = Math.min(3, Math.max(0.3, scale * factor));
    show();
  };
  studio.on("graph", show);
  studio.on("findings", show);
  studio.on("opened", () => (zoom = null));
  new ResizeObserver(() => zoom === null && show()).observe(ground);
  show();
  return el(
    "div",
    { class: "graph" },
    el(
      "div",
      { class: "bar" },
      note,
      button("−", () => change(0.8), { title: "Smaller", with: { "aria-label": "Smaller" } }),
      button("+", () => change(1.25), { title: "Larger", with: { "aria-label": "Larger" } }),
    ),
    ground,
  );
}

function noteOf(studio: Studio): string {
  if (studio.isDrawnOld) return "The text cannot be read now: this is how it was.";
  const { drawn } = studio;
  if (!drawn) return "";
  const statements = drawn.boxes.filter((box) => box.key.startsWith("statement:")).length;
  const cycles = drawn.edges.some((edge) => edge.cycle) ? " Red lines lead back: a cycle." : "";
  return `${counted(statements, "statement")}. Choose one to see its text.${cycles}`;
}

function arrow(name: string): SVGElement {
  return svg(
    "marker",
    { id: name, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M0,0 L8,4 L0,8 z", class: `tip ${name}` }),
  );
}

function boxOf(studio: Studio, box: Box): SVGElement {
  const kind = box.key.split(":", 1)[0] ?? "";
  const about = findingsIn(studio, box);
  const worst = ["error", "warning"].find((severity) => about.some((each) => each.severity === severity));
  const isRace = about.some((each) => each.code === "race");
  const name = `${KINDS[kind] ?? kind} ${box.lines[0]}${about.length ? `, ${counted(about.length, "finding")}` : ""}`;
  const go = () => {
    if (!box.place) return;
    studio.goTo(box.place.line, box.place.column, box.place.file);
  };
  const middle = box.x + box.width / 2;
  const made = svg(
    "g",
    { class: `box ${kind} ${box.input ? "input" : ""} ${worst ?? ""}`, ...(box.place ? { role: "button", tabindex: 0 } : {}), "aria-label": name },
    svg("title", {}, [name, ...about.map((each) => each.message)].join("\n")),
    svg("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: box.input ? 12 : 4 }),
    ...box.lines.map((text, number) =>
      svg("text", { x: middle, y: box.y + 17 + number * LINE, "text-anchor": "middle", class: number ? "small" : "name" }, text),
    ),
    worst && svg("circle", { cx: box.x + box.width, cy: box.y, r: 8, class: "mark" }),
    worst && svg("text", { x: box.x + box.width, y: box.y + 4, "text-anchor": "middle", class: "sign" }, isRace ? "⇄" : "!"),
  );
  made.addEventListener("click", go);
  made.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      go();
    }
  });
  return made;
}

function findingsIn(studio: Studio, box: Box): Finding[] {
  const { place } = box;
  if (!place) return [];
  return studio.findings.filter(
    (each) =>
      each.severity !== "note" && each.file === place.file && each.line !== null && each.line >= place.line && each.line <= place.end_line,
  );
}
