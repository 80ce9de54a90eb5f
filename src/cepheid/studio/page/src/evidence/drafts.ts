// First scenarios and environments: what may come of each type that comes from outside, to be changed.
import { Drawn, FileEntry } from "../studio";

export type TomlKind = Extract<FileEntry["kind"], "scenario" | "environment">;

interface Attribute {
  name: string;
  type: string;
}

const isNumber = (name: string) => /id$|number$|nr$/i.test(name);

// By type: how a scenario makes a value, and which values an environment tries.
const BY_CHANCE: Record<string, string> = {
  int: "{distribution = \"uniform\", min = 0, max = 100}",
  double: "{distribution = \"normal\", mean = 50, sd = 20}",
  boolean: "{choice = [true, false], weights = [9, 1]}",
  string: "{choice = [\"one\", \"other\"]}",
};
const TRIED: Record<string, string> = { int: "[0, 50, 100]", double: "[0.0, 50.0, 100.0]", boolean: "[true, false]", string: "[\"one\", \"other\"]" };
const LIKE: Record<string, string> = { long: "int", float: "double" };

export function draft(kind: TomlKind, drawn: Drawn | null): string {
  const types = (drawn?.inputs ?? []).map((name) => ({ name, attributes: attributesOf(name, drawn) }));
  const tables = types.length ? types : [{ name: "YourType", attributes: [] }];
  if (kind === "scenario") {
    const head = "# Which events come, by chance, and for how long a run lasts.\nuntil = \"1 hour\"\n";
    return [head, ...tables.map(({ name, attributes }) => factory(name, attributes))].join("\n");
  }
  const head = "# What may come next, at any time: a search tries all of it, so few values are best.\n";
  return [head, ...tables.map(({ name, attributes }) => input(name, attributes))].join("\n");
}

// Those of types that can be made; the time of an event is its own.
function attributesOf(type: string, drawn: Drawn | null): Attribute[] {
  const found = (drawn?.types[type] ?? []).map(({ name, type }) => ({ name, type: LIKE[type] ?? type }));
  return found.filter(({ name, type: own }) => own in BY_CHANCE && name !== drawn?.times[type]);
}

function factory(type: string, attributes: Attribute[]): string {
  const isMany = attributes.some(({ name, type: own }) => own === "int" && isNumber(name));
  const lines = attributes.map(({ name, type: own }) => `${key(name)} = ${own === "int" && isNumber(name) ? "{index = true}" : BY_CHANCE[own]}`);
  return [
    "[[factory]]",
    `type = ${JSON.stringify(type)}`,
    ...(isMany ? ["count = 3"] : []),
    "every = {distribution = \"exponential\", mean = 10}  # seconds",
    ...(lines.length ? ["", "[factory.attributes]", ...lines] : []),
    "",
  ].join("\n");
}

function input(type: string, attributes: Attribute[]): string {
  const lines = attributes.map(({ name, type: own }) => `values.${key(name)} = ${own === "int" && isNumber(name) ? "[1, 2]" : TRIED[own]}`);
  return ["[[input]]", `type = ${JSON.stringify(type)}`, "gaps = [\"1 second\", \"10 seconds\"]  # since the event before", ...lines, ""].join("\n");
}

function key(name: string): string {
  return /^[\w-]+$/.test(name) && !/[^\x00-\x7f]/.test(name) ? name : JSON.stringify(name);
}
