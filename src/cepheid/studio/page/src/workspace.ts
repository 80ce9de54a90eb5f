// Blockly with our blocks: a chunk of its own, which is loaded when blocks are shown for the first time.
import * as Blockly from "blockly/core";
import * as words from "blockly/msg/en";

export interface Block {
  type: string;
  fields?: Record<string, string>;
  inputs?: Record<string, { block?: Block; shadow?: Block }>;
  next?: { block: Block };
}

// The shapes of blocks and the tools to draw with, as the studio tells them.
export interface Palette {
  shapes: { type: string }[];
  palette: { title: string; style: string; types: string; tools: { block: Block; about: string }[] }[];
}

interface Types {
  simple: string[];
  complex: string[];
}

const EMPTY = { shadow: { type: "expression", fields: { TEXT: "" } } };

export class Ground {
  private workspace: Blockly.WorkspaceSvg;
  private known = "";

  constructor(
    holder: HTMLElement,
    private palette: Palette,
    types: Types,
    nonce: string,
    private told: (block: Block, loose: number) => void,
  ) {
    Blockly.setLocale(words as unknown as Record<string, string>);
    Blockly.defineBlocksWithJsonArray(palette.shapes);
    for (const name of ["undo", "redo"]) Blockly.ShortcutRegistry.registry.unregister(name); // the text has a history
    this.workspace = withNonce(nonce, () =>
      Blockly.inject(holder, {
        toolbox: this.toolbox(types),
        theme: themeOf(palette),
        renderer: "thrasos",
        media: "/", // of which nothing is asked for: the style sheet has no images
        sounds: false,
        zoom: { startScale: 0.9, wheel: false, controls: false },
        trashcan: false,
        comments: false,
        move: { scrollbars: true, drag: true, wheel: true },
      }),
    );
    this.workspace.MAX_UNDO = 0;
    this.workspace.addChangeListener((event) => this.hear(event));
  }

  show(block: Block, isOld: boolean): void {
    Blockly.Events.disable(); // what is shown was not drawn
    try {
      this.workspace.clear();
      const made = Blockly.serialization.blocks.append({ ...block, x: 20, y: 20 } as never, this.workspace);
      made.setDeletable(false);
      for (const each of this.workspace.getAllBlocks(false)) {
        each.setEditable(!isOld);
        each.setMovable(!isOld && !each.isShadow());
      }
    } finally {
      Blockly.Events.enable();
    }
    this.resize();
    this.workspace.scroll(0, 0);
  }

  mark(severity: string | null): void {
    const root = this.statement();
    for (const each of ["error", "warning"]) root?.getSvgRoot().classList.toggle(each, each === severity);
  }

  resize(): void {
    Blockly.svgResize(this.workspace);
  }

  // Event types become tools as soon as they exist.
  know(types: Types): void {
    const toolbox = this.toolbox(types);
    if (JSON.stringify(types) === this.known) return;
    this.known = JSON.stringify(types);
    this.workspace.updateToolbox(toolbox);
  }

  private statement(): Blockly.BlockSvg | undefined {
    return this.workspace.getTopBlocks(false).find((each) => each.type === "statement");
  }

  private hear(event: Blockly.Events.Abstract): void {
    if (event.isUiEvent) return;
    if (event instanceof Blockly.Events.BlockCreate) this.tag(event.ids ?? []);
    if (this.workspace.isDragging()) return;
    const root = this.statement();
    if (!root) return;
    const saved = Blockly.serialization.blocks.save(root) as Block | null;
    if (saved) this.told(saved, this.workspace.getTopBlocks(false).length - 1);
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

  private toolbox(types: Types): Blockly.utils.toolbox.ToolboxDefinition {
    this.known = JSON.stringify(types);
    return {
      kind: "categoryToolbox",
      contents: this.palette.palette.map((category) => ({
        kind: "category",
        name: category.title,
        categorystyle: category.style,
        contents: [
          ...category.tools.map((tool) => ({ kind: "block", ...tool.block })),
          ...(types[category.types as keyof Types] ?? []).flatMap(eventTools),
        ],
      })),
    } as Blockly.utils.toolbox.ToolboxDefinition;
  }
}

// An event in a pattern, and all events of the type as rows.
function eventTools(type: string): object[] {
  const inputs = { CONDITION: EMPTY };
  return [
    { kind: "block", type: "event", fields: { TYPE: type, TAG: type[0]?.toLowerCase() ?? "" }, inputs },
    { kind: "block", type: "stream", fields: { TYPE: type, AS: "" }, inputs },
  ];
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
