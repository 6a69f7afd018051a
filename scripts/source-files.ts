/** The repository's sources as syntax trees: which files there are, and what is written in them. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "vite";

const areas = [
  "packages/*/{src,test,bin}",
  "{bench,scripts,examples,simulation,interop,dashboard}",
];

export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

export interface SourceFile {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every TypeScript and JavaScript file of ours under `root`, sorted by path. */
export function sourceFiles(root: string): SourceFile[] {
  const patterns = areas.map((area) => `${area}/**/*.{ts,tsx,js,mjs}`);
  return globSync(patterns, { cwd: root, exclude: ["**/node_modules/**", "**/dist/**"] })
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

/** All nodes of a file's syntax tree, outer ones first. @throws Error on a syntax error */
export function syntaxNodes({ path, text }: SourceFile): SyntaxNode[] {
  const nodes: SyntaxNode[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    else if (isNode(value)) {
      nodes.push(value);
      for (const field of Object.values(value)) visit(field);
    }
  };
  visit(parseAst(text, { lang: languageOf(path) }, path));
  return nodes;
}

function languageOf(path: string): "ts" | "tsx" | "js" {
  if (path.endsWith(".tsx")) return "tsx";
  return path.endsWith(".ts") ? "ts" : "js";
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

/** The value of a string literal; `undefined` for any other node. */
export function stringOf(node: unknown): string | undefined {
  return isNode(node) && typeof node.value === "string" ? node.value : undefined;
}

/** Line of a node, from 1. */
export function lineOf(text: string, { start }: SyntaxNode): number {
  return text.slice(0, start).split("\n").length;
}
