// What fits where: values by their kind, and properties where the tag of their event is in scope.
import * as Blockly from "blockly/core";

export interface Property {
  name: string;
  type: string;
}

export interface KnownType {
  name: string;
  icon: string;
  about: string;
  properties: Property[];
}

export interface Types {
  simple: KnownType[];
  complex: KnownType[];
}

export const known = new Map<string, KnownType>();

export function learn(types: Types): void {
  known.clear();
  for (const type of [...types.complex, ...types.simple]) known.set(type.name, type);
}

type Scope = Map<string, string>; // names of events, each with its type
type Kind = "number" | "text" | "truth" | null; // null: it may be anything
const NUMBERS = /^(int|long|float|double|decimal.*)$/;

export class Fitting extends Blockly.ConnectionChecker {
  override doTypeChecks(a: Blockly.Connection, b: Blockly.Connection): boolean {
    if (!super.doTypeChecks(a, b)) return false;
    const [slot, value] = a.type === Blockly.ConnectionType.INPUT_VALUE ? [a, b] : [b, a];
    if (slot.type !== Blockly.ConnectionType.INPUT_VALUE) return true;
    const scope = scopeOf(slot.getSourceBlock());
    return fitsKind(slot, value.getSourceBlock(), scope) && propertiesIn(value.getSourceBlock()).every((each) => isKnown(each, scope));
  }
}

export function registerFitting(): void {
  Blockly.registry.register(Blockly.registry.Type.CONNECTION_CHECKER, "fitting", Fitting, true);
}

function fitsKind(slot: Blockly.Connection, value: Blockly.Block, scope: Scope | null): boolean {
  const kind = kindOf(value, scope);
  const wanted = slot.getCheck();
  if (kind && wanted && !wanted.includes(kind)) return false;
  const owner = slot.getSourceBlock();
  if (owner.type !== "compare" || !kind) return true;
  const other = owner.inputList.map((input) => input.connection).find((each) => each && each !== slot && each.type === slot.type);
  const beside = other?.targetBlock();
  const its = beside && beside !== value ? kindOf(beside, scope) : null;
  return !its || its === kind;
}

function kindOf(block: Blockly.Block, scope: Scope | null): Kind {
  if (block.type === "value" || block.type === "expression") return kindOfText(text(block, "TEXT"));
  if (block.type === "property") return kindOfType(typeOf(text(block, "TEXT"), scope));
  const gives = block.outputConnection?.getCheck();
  return gives?.length === 1 ? (gives[0] as Kind) : null;
}

function kindOfText(said: string): Kind {
  if (/^-?\d+(\.\d+)?[lfd]?$/i.test(said)) return "number";
  if (/^'[^']*'$/.test(said)) return "text";
  return /^(true|false)$/.test(said) ? "truth" : null;
}

function kindOfType(type: string | undefined): Kind {
  if (type === "string") return "text";
  if (type === "boolean") return "truth";
  return type && NUMBERS.test(type) ? "number" : null;
}

function typeOf(path: string, scope: Scope | null): string | undefined {
  const [tag = "", ...rest] = path.split(".");
  let type = scope?.get(tag);
  for (const name of rest) type = known.get(type ?? "")?.properties.find((each) => each.name === name)?.type;
  return type;
}

function propertiesIn(block: Blockly.Block): Blockly.Block[] {
  return block.getDescendants(false).filter((each) => each.type === "property");
}

// Whether the event that a property is of can be named here; where nothing is known, it may be.
function isKnown(property: Blockly.Block, scope: Scope | null): boolean {
  const [tag, ...rest] = text(property, "TEXT").split(".");
  return !scope || !rest.length || !tag || /[^\w$]/.test(tag) || scope.has(tag);
}

// Scopes, as `program/scopes.py` has them.

// What can be named in a slot of a block; null beside the statement, where nothing is known yet.
export function scopeOf(owner: Blockly.Block): Scope | null {
  let host: Blockly.Block | null = owner;
  while (host?.outputConnection) host = host.getParent();
  const root = host?.getRootBlock();
  if (!host || root?.type !== "statement") return null;
  if (host.type === "event") return new Map([...before(host), ...own(host)]);
  if (host.type === "stream") return own(host);
  if (host.type === "while") return new Map([...before(host), ...boundIn(host, "CHILD")]);
  return scopeOfStatement(root);
}

// What is known of when the whole pattern has happened.
export function scopeOfStatement(statement: Blockly.Block): Scope {
  const source = statement.getInputTargetBlock("SOURCE");
  return source?.type === "stream" ? own(source) : boundIn(statement, "SOURCE");
}

function own(event: Blockly.Block): Scope {
  const type = text(event, "TYPE");
  const names = [text(event, "TAG"), text(event, "AS"), type].filter(Boolean);
  return new Map(names.map((name) => [name, type]));
}

// What was bound before a part of a pattern starts: the parts of `all of` and `any of` start together.
function before(part: Blockly.Block): Scope {
  const parent = part.getSurroundParent();
  if (!parent || parent.type === "statement") return earlier(part, new Map());
  const outer = before(parent);
  return parent.type === "all_of" || parent.type === "any_of" ? outer : earlier(part, outer);
}

function earlier(part: Blockly.Block, outer: Scope): Scope {
  const above = part.getPreviousBlock();
  if (!above || above.getNextBlock() !== part) return outer;
  return new Map([...earlier(above, outer), ...bound(above)]);
}

function boundIn(block: Blockly.Block, input: string): Scope {
  const found: Scope = new Map();
  for (let part = block.getInputTargetBlock(input); part; part = part.getNextBlock()) bound(part).forEach((type, tag) => found.set(tag, type));
  return found;
}

function bound(part: Blockly.Block): Scope {
  if (part.type === "absent") return new Map();
  if (part.type === "event") return new Map(text(part, "TAG") ? [[text(part, "TAG"), text(part, "TYPE")]] : []);
  return new Map(["CHILD", "PARTS", "UNTIL"].flatMap((input) => (part.getInput(input) ? [...boundIn(part, input)] : [])));
}

function text(block: Blockly.Block, field: string): string {
  return String(block.getFieldValue(field) ?? "").trim();
}
