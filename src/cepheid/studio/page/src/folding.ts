// Lines of text that unfold into blocks, and blocks that fold into a line: by a menu, or the key U.
import * as Blockly from "blockly/core";
import type { Block } from "./workspace";

export type Ask = <T>(verb: string, given: object) => Promise<T>;
const LINE = "expression";

export function registerFolding(ask: Ask, say: (text: string) => void): void {
  const act = (block: Blockly.BlockSvg) => {
    const done = block.type === LINE ? unfold(block, ask) : fold(block, ask);
    done.catch((problem: Error) => say(`This stays as it is: ${problem.message}.`));
  };
  Blockly.ContextMenuRegistry.registry.register({
    id: "fold",
    scopeType: Blockly.ContextMenuRegistry.ScopeType.BLOCK,
    displayText: (scope) => (meant(scope.block)?.type === LINE ? "Unfold the line into blocks (U)" : "Fold the blocks into a line (U)"),
    preconditionFn: (scope) => (meant(scope.block) ? "enabled" : "hidden"),
    callback: (scope) => {
      const block = meant(scope.block);
      if (block) act(block);
    },
    weight: 0,
  });
  Blockly.ShortcutRegistry.registry.register({
    name: "fold",
    keyCodes: [Blockly.utils.KeyCodes.U],
    displayText: "Unfold a line into blocks, or fold blocks into a line",
    preconditionFn: () => focused() !== null,
    callback: () => {
      const block = focused();
      if (block) act(block);
      return block !== null;
    },
  } as Blockly.ShortcutRegistry.KeyboardShortcut);
}

function focused(): Blockly.BlockSvg | null {
  const node = Blockly.getFocusManager().getFocusedNode();
  return meant(node instanceof Blockly.BlockSvg ? node : node instanceof Blockly.Field ? (node.getSourceBlock() as Blockly.BlockSvg) : null);
}

// A line that says something, or what stands in place of one: the block itself, or what is in a block that is no value.
function meant(block: Blockly.BlockSvg | null | undefined): Blockly.BlockSvg | null {
  if (!block || block.isInFlyout || !block.isEditable()) return null;
  const slots = block.inputList.map((input) => input.connection).filter((each) => each?.type === Blockly.ConnectionType.INPUT_VALUE);
  const own = slotOf(block) ? block : ((slots[0]?.targetBlock() ?? null) as Blockly.BlockSvg | null);
  return own && (own.type !== LINE || own.getFieldValue("TEXT")) ? own : null;
}

function slotOf(block: Blockly.Block): Blockly.Connection | null {
  return block.outputConnection?.targetConnection ?? null;
}

async function unfold(line: Blockly.BlockSvg, ask: Ask): Promise<void> {
  const said = line.getFieldValue("TEXT") as string;
  const { block } = await ask<{ block: Block }>("unfold", { text: said });
  const slot = slotOf(line);
  if (!slot || line.isDisposed() || line.getFieldValue("TEXT") !== said) return;
  if (block.type === LINE) throw new Error("there are no blocks for it");
  inOneStep(() => {
    const made = Blockly.serialization.blocks.append(block as never, line.workspace) as Blockly.BlockSvg;
    const output = made.outputConnection;
    if (output && made.workspace.connectionChecker.canConnect(output, slot, false)) slot.connect(output);
    if (made.getParent()) Blockly.getFocusManager().focusNode(made);
    else {
      made.dispose();
      throw new Error("what it says does not fit here");
    }
  });
}

async function fold(top: Blockly.BlockSvg, ask: Ask): Promise<void> {
  const block = Blockly.serialization.blocks.save(top, { addNextBlocks: false });
  const { text } = await ask<{ text: string }>("fold", { block });
  const slot = slotOf(top);
  if (!slot || top.isDisposed()) return;
  inOneStep(() => {
    top.dispose();
    const line = slot.targetBlock() as Blockly.BlockSvg | null; // the shadow is back
    line?.setFieldValue(text, "TEXT");
    if (line) Blockly.getFocusManager().focusNode(line);
  });
}

function inOneStep(act: () => void): void {
  Blockly.Events.setGroup(true);
  try {
    act();
  } finally {
    Blockly.Events.setGroup(false);
  }
}
