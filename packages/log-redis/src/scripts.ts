/** The scripts: their texts, put together from `lua/`, and the digests by which they are called. */
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";

export interface Script {
  readonly name: string;
  readonly text: string;
  /** As Redis names it. */
  readonly sha1: string;
}

/** Each script with the parts that stand before it. */
const partsOf = {
  acquire: ["streams", "inbox"],
  attend: ["streams"],
  claim: [],
  commit: ["streams", "session", "operations", "caps", "writing"],
  "expire-keys": ["streams"],
  index: [],
  lease: [],
  look: ["streams"],
  lose: ["streams"],
  read: ["streams"],
  release: [],
  rest: ["streams"],
  running: [],
  settle: [],
  sweep: ["streams"],
  take: ["streams", "inbox"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ScriptName = keyof typeof partsOf;

export const scripts: Readonly<Record<ScriptName, Script>> = loadAll();

function loadAll(): Record<ScriptName, Script> {
  const names = Object.keys(partsOf) as ScriptName[];
  const entries = names.map((name) => [name, load(name)] as const);
  return Object.fromEntries(entries) as Record<ScriptName, Script>;
}

function load(name: ScriptName): Script {
  const files = [...partsOf[name].map((part) => `parts/${part}`), name];
  const text = files
    .map((file) => readFileSync(new URL(`../lua/${file}.lua`, import.meta.url), "utf8"))
    .join("\n");
  return { name, text, sha1: hash("sha1", text) };
}
