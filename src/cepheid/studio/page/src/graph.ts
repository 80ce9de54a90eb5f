// What depends on what: events from outside on the left, what is made of them to the right.
import { button, counted, el, fill, svg } from "./dom";
import { movable } from "./dragging";
import { historyKeys } from "./history";
import { Places } from "./places";
import { Box, Studio } from "./studio";
import { Finding } from "./talk";

const LINE = 16;
const MARGIN = 12; // around boxes that were moved
const KINDS: Record<string, string> = { type: "events", statement: "statement", action: "action" };

export function graphView(studio: Studio): HTMLElement {
  const note = el("p", { class: "summary", with: { role: "status" } });
  const places = new Places(studio, "graph", () => show(), (text) => fill(note, text));
  const tidy = button("Tidy", () => {
    places.forget();
    show();
  }, { title: "Boxes go back to where they stand by themselves" });
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
    tidy.hidden = places.isEmpty;
    const focus = (document.activeElement as SVGElement | null)?.dataset?.key;
    const boxes = drawn.boxes.map((box) => moved(box, places));
    const byKey = new Map(boxes.map((box) => [box.key, box]));
    const width = Math.max(drawn.width, ...boxes.map((box) => box.x + box.width + MARGIN));
    const height = Math.max(drawn.height, ...boxes.map((box) => box.y + box.height + MARGIN));
    scale = zoom ?? Math.min(1.2, Math.max(0.5, (ground.clientWidth - 20) / width));
    const picture = svg(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        width: width * scale,
        height: height * scale,
        role: "group",
        "aria-label": "Graph of the program",
      },
      svg("defs", {}, arrow("arrow"), arrow("back")),
      ...drawn.edges.map((edge) =>
        svg("path", {
          d: pathOf(edge, byKey, places),
          class: edge.cycle ? "edge cycle" : "edge",
          "marker-end": edge.cycle ? "url(#back)" : "url(#arrow)",
        }),
      ),
      ...boxes.map((box) => {
        const made = boxOf(studio, box);
        movable(made, () => scale, (dx, dy) => {
          places.put(box.key, [Math.max(0, box.x + dx), Math.max(0, box.y + dy)]);
          show();
        });
        return made;
      }),
    );
    fill(ground, picture);
    if (focus) [...picture.querySelectorAll<SVGElement>(".box")].find((each) => each.dataset.key === focus)?.focus();
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
  const element = el(
    "div",
    { class: "graph" },
    el(
      "div",
      { class: "bar" },
      note,
      tidy,
      button("−", () => change(0.8), { title: "Smaller", with: { "aria-label": "Smaller" } }),
      button("+", () => change(1.25), { title: "Larger", with: { "aria-label": "Larger" } }),
    ),
    ground,
  );
  historyKeys(element, studio);
  return element;
}

// Where the user put it; else where it stands by itself.
function moved(box: Box, places: Places): Box {
  const [x, y] = places.of(box.key) ?? [box.x, box.y];
  return { ...box, x, y };
}

// Of what was moved, a line from side to side.
function pathOf(edge: { from: string; to: string; path: string }, boxes: Map<string, Box>, places: Places): string {
  const [one, other] = [boxes.get(edge.from), boxes.get(edge.to)];
  if (!one || !other || !(places.of(edge.from) || places.of(edge.to))) return edge.path;
  const [x, y] = [one.x + one.width, one.y + one.height / 2];
  const [end, level] = [other.x, other.y + other.height / 2];
  const bend = Math.max(30, Math.abs(end - x) / 2);
  return `M${x},${y} C${x + bend},${y} ${end - bend},${level} ${end},${level}`;
}

function noteOf(studio: Studio): string {
  if (studio.isDrawnOld) return "The text cannot be read now: this is how it was.";
  const { drawn } = studio;
  if (!drawn) return "";
  const statements = drawn.boxes.filter((box) => box.key.startsWith("statement:")).length;
  const cycles = drawn.edges.some((edge) => edge.cycle) ? " Red lines lead back: a cycle." : "";
  return `${counted(statements, "statement")}. Choose one to see its text; + draws a new one from events.${cycles}`;
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
  const type = typeOf(studio, box);
  const icon = studio.drawn?.looks[type]?.icon;
  const begin = type && kind !== "action" ? beginMark(studio, box, type) : null;
  const made = svg(
    "g",
    {
      class: `box ${kind} ${box.input ? "input" : ""} ${worst ?? ""}`,
      ...(box.place || begin ? { role: "button", tabindex: 0 } : {}),
      "aria-label": name,
      "aria-keyshortcuts": begin ? "n" : "",
      "data-key": box.key,
    },
    svg("title", {}, [name, ...about.map((each) => each.message)].join("\n")),
    svg("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: box.input ? 12 : 4 }),
    ...box.lines.map((text, number) =>
      svg("text", { x: middle, y: box.y + 17 + number * LINE, "text-anchor": "middle", class: number ? "small" : "name" }, text),
    ),
    icon && svg("text", { x: box.x + 3, y: box.y + 5, class: "picture" }, icon),
    begin,
    worst && svg("circle", { cx: box.x + box.width, cy: box.y, r: 8, class: "mark" }),
    worst && svg("text", { x: box.x + box.width, y: box.y + 4, "text-anchor": "middle", class: "sign" }, isRace ? "⇄" : "!"),
  );
  made.addEventListener("click", go);
  made.addEventListener("keydown", (event) => {
    const act = event.key === "n" && begin ? () => studio.beginWith(type) : event.key === "Enter" || event.key === " " ? go : null;
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
  return made;
}

// The events that a box stands for: its own, or those that a statement makes.
function typeOf(studio: Studio, box: Box): string {
  const name = box.key.slice(box.key.indexOf(":") + 1);
  const into = box.lines.find((line) => line.startsWith("into "))?.slice("into ".length);
  return [into ?? name].find((each) => each in (studio.drawn?.types ?? {})) ?? "";
}

// Draws a new statement from the events of a box.
function beginMark(studio: Studio, box: Box, type: string): SVGElement {
  const [x, y] = [box.x + box.width, box.y + box.height];
  const made = svg(
    "g",
    { class: "begin", role: "button", "aria-label": `New statement from ${type}` },
    svg("title", {}, `New statement from ${type} (N)`),
    svg("circle", { cx: x - 4, cy: y - 2, r: 8 }),
    svg("text", { x: x - 4, y: y + 2.5, "text-anchor": "middle" }, "+"),
  );
  made.addEventListener("click", (event) => {
    event.stopPropagation();
    studio.beginWith(type);
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
