/** The built page, as the dashboard's package has it; read once, served from memory. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, extname } from "node:path";
import { fileURLToPath } from "node:url";

export interface PageFile {
  readonly bytes: Uint8Array;
  readonly type: string;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** By the path of the URL: `/`, `/assets/page.js`. Whatever is not in it is not served. */
export function readPageFiles(): ReadonlyMap<string, PageFile> {
  const index = fileURLToPath(import.meta.resolve("@holdfast/dashboard/page/index.html"));
  const directory = dirname(index);
  const files = new Map<string, PageFile>();
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const type = types[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = `${entry.parentPath}/${entry.name}`.slice(directory.length);
    files.set(path === "/index.html" ? "/" : path, { bytes: readFileSync(directory + path), type });
  }
  return files;
}
