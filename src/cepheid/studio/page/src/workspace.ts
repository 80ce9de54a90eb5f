// Blockly with our blocks: a chunk of its own, which is loaded when blocks are shown for the first time.
import * as Blockly from "blockly/core";
import * as words from "blockly/msg/en";
import { known, KnownType, learn, registerFitting, scopeOfStatement, Types } from "./fitting";
import { Ask, registerFolding } from "./folding";

export type { KnownType, Types } from "./fitting";

export interface Block {
  type: string;
  fields?: Record<string, string>;
  inputs?: Record<string, { block?: Block; shadow?: Block }>;
  next?: { block: Block };
}

// The shapes of blocks and the tools to draw with, as the studio tells them.
export interface Palette {
  shapes: { type: string }[];
  palette: { title: string; style: string; more: string; tools: { block: Block; about: string }[] }[];
}

// What is found wrong, and by which inputs it is reached from the topmost block.
export interface Mark {
  path: string[];
  severity: "error" | "warning" | "note";
  text: string;
}

// What the ground asks of whoever shows it.
export interface Host {
  ask: Ask;
  say(text: string): void;
  drawn(block: Block, loose: number): void;
  moved(x: number, y: number): void;
}

const EMPTY = { shadow: { type: "expression", fields: { TEXT: "" } } };
const LATER = 300; // milliseconds until what cannot be shown now is tried again
const TOPMOST = ["statement", "partition"];
const OF_TYPES = ["event", "stream"];

export class Ground {
  private workspace: Blockly.WorkspaceSvg;
  private known = "";
  private timer = 0;

  constructor(holder: HTMLElement, private palette: Palette, types: Types, nonce: string, private host: Host) {
    Blockly.setLocale(words as unknown as Record<string, string>);
    Blockly.Extensions.register("of_a_type", withTooltipOfType);
    Blockly.defineBlocksWithJsonArray(
      palette.shapes.map((shape) => (OF_TYPES.includes(shape.type) ? { ...shape, extensions: ["of_a_type"] } : shape)),
    );
    for (const name of ["undo", "redo"]) Blockly.ShortcutRegistry.registry.unregister(name); // the text has a history
    registerFitting();
    registerFolding(host.ask, host.say);
    learn(types);
    this.workspace = withNonce(nonce, () =>
      Blockly.inject(holder, {
        toolbox: this.toolbox(types),
        theme: themeOf(palette),
        renderer: "thrasos",
        plugins: { connectionChecker: "fitting" },
        media: "/", // of which nothing is asked for: the style sheet has no images
        sounds: false,
        zoom: { startScale: 0.9, wheel: false, controls: false },
        trashcan: false,
        comments: false,
        move: { scrollbars: true, drag: true, wheel: true },
      }),
    );
    this.workspace.MAX_UNDO = 0;
    this.workspace.registerToolboxCategoryCallback("properties", () => this.properties());
    this.workspace.addChangeListener((event) => this.hear(event));
  }

  show(block: Block, isOld: boolean, at: number[] = [20, 20]): void {
    quietly(() => {
      this.workspace.clear(); // what is shown was not drawn
      const [x, y] = at;
      const made = Blockly.serialization.blocks.append({ ...block, x, y } as never, this.workspace);
      made.setDeletable(false);
      for (const each of this.workspace.getAllBlocks(false)) {
        each.setEditable(!isOld);
        each.setMovable(!isOld && !each.isShadow());
      }
      this.dress();
    });
    this.resize();
    this.workspace.scroll(0, 0);
  }

  // Findings sit on the innermost blocks that they are about.
  mark(marks: Mark[]): void {
    const root = this.topmost();
    quietly(() => {
      for (const each of this.workspace.getAllBlocks(false)) {
        each.getSvgRoot().classList.remove("error", "warning", "note");
        each.setWarningText(null);
      }
      for (const { path, severity, text } of root ? marks : []) {
        const block = root && reached(root, path);
        block?.getSvgRoot().classList.add(severity);
        block?.setWarningText(text, `${severity} ${text}`);
      }
    });
  }

  resize(): void {
    Blockly.svgResize(this.workspace);
  }

  // Event types become tools as soon as they exist, but for those that are just taken from the palette.
  know(types: Types): void {
    clearTimeout(this.timer);
    if (JSON.stringify(types) === this.known) return;
    if (this.workspace.isDragging()) {
      this.timer = window.setTimeout(() => this.know(types), LATER);
      return;
    }
    learn(types);
    const palette = this.workspace.getToolbox() as Blockly.Toolbox | null;
    const open = palette?.getSelectedItem() ?? null;
    const place = open ? palette?.getToolboxItems().indexOf(open) : undefined;
    this.workspace.updateToolbox(this.toolbox(types));
    if (place !== undefined && place >= 0) palette?.selectItemByPosition(place);
    quietly(() => this.dress());
  }

  private topmost(): Blockly.BlockSvg | undefined {
    return this.workspace.getTopBlocks(false).find((each) => TOPMOST.includes(each.type));
  }

  private hear(event: Blockly.Events.Abstract): void {
    if (event.isUiEvent) return;
    if (event instanceof Blockly.Events.BlockCreate) this.tag(event.ids ?? []);
    quietly(() => this.dress());
    if (this.workspace.isDragging()) return;
    const root = this.topmost();
    if (!root) return;
    if (event instanceof Blockly.Events.BlockMove && event.blockId === root.id && event.newCoordinate) {
      this.host.moved(event.newCoordinate.x, event.newCoordinate.y);
    }
    const saved = Blockly.serialization.blocks.save(root) as Block | null;
    if (saved) this.host.drawn(saved, this.workspace.getTopBlocks(false).length - 1);
  }

  // Events that join others have tags of their own.
  private tag(made: string[]): void {
    const events = this.workspace.getAllBlocks(false).filter((each) => each.type === "event");
    const used = new Set(events.filter((each) => !made.includes(each.id)).map((each) => each.getFieldValue("TAG") as string));
    for (const each of events.filter((event) => made.includes(event.id))) {
      const tag = each.getFieldValue("TAG") as string;
      let free = tag;
      for (let number = 2; tag && used.has(free); number++) free = `${tag}${number}`;
      if (free !== tag) each.setFieldValue(free, "TAG");
      used.add(free);
    }
  }

  // Events show the picture of their type.
  private dress(): void {
    for (const each of this.workspace.getAllBlocks(false).filter((block) => OF_TYPES.includes(block.type))) {
      const icon = known.get(each.getFieldValue("TYPE") as string)?.icon ?? "";
      if (each.getFieldValue("PICTURE") !== icon) each.setFieldValue(icon, "PICTURE");
    }
  }

  private toolbox(types: Types): Blockly.utils.toolbox.ToolboxDefinition {
    this.known = JSON.stringify(types);
    return {
      kind: "categoryToolbox",
      contents: this.palette.palette.map((category) => ({
        kind: "category",
        name: category.title,
        categorystyle: category.style,
        ...(category.more === "properties" ? { custom: category.more } : {}),
        contents: [
          ...category.tools.map((tool) => ({ kind: "block", ...tool.block })),
          ...(types[category.more as keyof Types] ?? []).flatMap(eventTools),
        ],
      })),
    } as Blockly.utils.toolbox.ToolboxDefinition;
  }

  // Those of the events that the statement has, by their tags.
  private properties(): Blockly.utils.toolbox.FlyoutDefinition {
    const root = this.topmost();
    const scope = root?.type === "statement" ? [...scopeOfStatement(root)] : [];
    if (!scope.length) return [{ kind: "label", text: "Draw an event into the statement first." }] as never;
    return scope.flatMap(([tag, type]) => [
      { kind: "label", text: `${known.get(type)?.icon ?? ""} ${tag}${tag === type ? "" : `: ${type}`}` },
      ...paths(type).map((path) => ({ kind: "block", type: "property", fields: { TEXT: `${tag}.${path}` } })),
    ]) as never;
  }
}

// Properties of a type, and those of events in them.
function paths(type: string): string[] {
  const found = known.get(type)?.properties ?? [];
  return found.flatMap(({ name, type: inner }) => [name, ...(known.get(inner)?.properties ?? []).map((each) => `${name}.${each.name}`)]);
}

// An event in a pattern, and all events of the type as rows.
function eventTools({ name, icon }: KnownType): object[] {
  const inputs = { CONDITION: EMPTY };
  return [
    { kind: "block", type: "event", fields: { TYPE: name, TAG: name[0]?.toLowerCase() ?? "", PICTURE: icon }, inputs },
    { kind: "block", type: "stream", fields: { TYPE: name, AS: "", PICTURE: icon }, inputs },
  ];
}

function withTooltipOfType(this: Blockly.Block): void {
  const about = String(this.tooltip);
  this.setTooltip(() => {
    const type = known.get(this.getFieldValue("TYPE") as string);
    const has = type?.properties.map((each) => `${each.name} (${each.type})`).join(", ");
    return [type?.about, has && `It has ${has}.`, about].filter(Boolean).join("\n");
  });
}

function reached(root: Blockly.BlockSvg, path: string[]): Blockly.BlockSvg {
  let here = root;
  for (const step of path) {
    const next = step === "next" ? here.getNextBlock() : here.getInput(step) && here.getInputTargetBlock(step);
    if (!next) break;
    here = next as Blockly.BlockSvg;
  }
  return here.isShadow() ? ((here.getParent() as Blockly.BlockSvg | null) ?? here) : here;
}

function quietly(act: () => void): void {
  Blockly.Events.disable();
  try {
    act();
  } finally {
    Blockly.Events.enable();
  }
}

function themeOf(palette: Palette): Blockly.Theme {
  const tokens = getComputedStyle(document.documentElement);
  const styles = palette.palette.map(({ style }) => [style, tokens.getPropertyValue(`--block-${style}`).trim()] as const);
  return Blockly.Theme.defineTheme("cepheid", {
    name: "cepheid",
    base: Blockly.Themes.Classic,
    blockStyles: Object.fromEntries(styles.map(([name, colour]) => [name, { colourPrimary: colour }])) as never,
    categoryStyles: Object.fromEntries(styles.map(([name, colour]) => [name, { colour }])),
  });
}

// Texts of bubbles are given a style as an attribute, which the policy of the page refuses; the same is not refused here.
SVGGElement.prototype.setAttribute = function (name: string, value: string): void {
  if (name === "style") this.style.cssText = value;
  else SVGElement.prototype.setAttribute.call(this, name, value);
};

// Blockly makes style elements, which the policy of the page takes with its nonce only.
function withNonce<T>(nonce: string, act: () => T): T {
  const { createElement } = document;
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const made = createElement.call(document, name, options);
    if (name === "style") made.nonce = nonce;
    return made;
  }) as typeof document.createElement;
  try {
    return act();
  } finally {
    document.createElement = createElement;
  }
}
