// Makes the bundle of the sources; `node build.mjs FOLDER` says where it goes.
//
// The script begins with the digest of all files here, which `bundle.py` computes in the same way.
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const target = process.argv[2] ?? join(here, "..", "bundle");

function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === "node_modules") continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* files(path);
    else yield relative(here, path).split(sep).join("/");
  }
}

const sha256 = (data) => createHash("sha256").update(data).digest("hex");

const names = [...files(here)].sort((a, b) => (a < b ? -1 : 1));
const lines = names.map((name) => `${name}\n${sha256(readFileSync(join(here, name)))}\n`);

const banner = { js: `/* sources: ${sha256(lines.join(""))} */` };
const common = { bundle: true, minify: true, target: "es2022", charset: "utf8", legalComments: "none", banner };
await build({ ...common, entryPoints: [join(here, "src", "main.ts")], outfile: join(target, "studio.js"), format: "iife" });
// Loaded when blocks are shown for the first time.
await build({ ...common, entryPoints: [join(here, "src", "workspace.ts")], outfile: join(target, "blocks.js"), format: "esm" });
for (const [from, to] of [["style.css", "studio.css"], ["index.html", "index.html"], ["icon.svg", "icon.svg"]]) {
  copyFileSync(join(here, from), join(target, to));
}
