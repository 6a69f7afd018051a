/**
 * Write docs/api.md from the declarations of the built packages, docstrings included:
 *
 *     npm run types && node scripts/make-api-page.ts [--check]
 *
 * With `--check` nothing is written: exit code 1 when the page is not what they say.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "..");
const pageFile = join(root, "docs/api.md");

const packages = ["server", "client", "log", "log-sqlite", "log-redis", "log-postgres"] as const;

interface Declaration {
  readonly name: string;
  readonly text: string;
}

function apiPage(): string {
  const sections = packages.map((name) => {
    const entries = declarationsOf(join(root, "packages", name, "dist/index.d.ts"));
    return `## @holdfast/${name}\n\n${entries.map(entryOf).join("\n\n")}`;
  });
  return `# API

Made from docstrings by \`scripts/make-api-page.ts\`; do not edit. What stands in square brackets names
a clause of [contract.md](contract.md).

${sections.join("\n\n")}
`;
}

function entryOf({ name, text }: Declaration): string {
  return `### ${name}\n\n\`\`\`typescript\n${text}\n\`\`\``;
}

/** What an index re-exports, in its order. */
function declarationsOf(index: string): Declaration[] {
  const text = readFileSync(index, "utf8");
  const exported = text.matchAll(/export (?:type )?\{([^}]*)\} from "(\.[^"]*)"/g);
  return [...exported].flatMap(([, names = "", from = ""]) => {
    const file = join(dirname(index), from.replace(/\.(js|ts)$/, ".d.ts"));
    const source = readFileSync(file, "utf8");
    return names.split(",").flatMap((part) => {
      const name = part.trim().replace(/^type /, "");
      const found = name === "" ? undefined : declarationOf(source, name);
      return found === undefined ? [] : [{ name, text: found }];
    });
  });
}

/** A declaration with its docstring; its private members are left out. */
function declarationOf(source: string, name: string): string | undefined {
  const lines = source.split("\n");
  const head = new RegExp(
    `^export (?:declare )?(?:abstract )?(?:function|class|interface|type|const) ${name}\\b`,
  );
  const at = lines.findIndex((line) => head.test(line));
  if (at < 0) return undefined;
  let from = at;
  if (lines[at - 1]?.endsWith("*/") === true) {
    do from--;
    while (from > 0 && lines[from]?.startsWith("/**") === false);
  }
  // Up to the line that closes it, which stands at the margin as its head does.
  let to = at;
  while (to < lines.length - 1 && !/[;}]$/.test(lines[to] ?? "")) to++;
  if (/\{$/.test(lines[at] ?? "")) to = lines.findIndex((line, i) => i > at && /^\}/.test(line));
  return lines
    .slice(from, to + 1)
    .filter((line) => !/^ {4}(#private|private )/.test(line))
    .map((line) => line.replace(/^export (declare )?/, ""))
    .join("\n");
}

// As the formatter has it: it formats the code in pages too.
const page = execFileSync(
  join(root, "node_modules/.bin/biome"),
  ["format", "--stdin-file-path=docs/api.md"],
  { cwd: root, input: apiPage(), encoding: "utf8" },
);
if (process.argv.includes("--check")) {
  if (readFileSync(pageFile, "utf8") !== page) {
    console.error("docs/api.md is stale: npm run types && node scripts/make-api-page.ts");
    process.exitCode = 1;
  }
} else {
  writeFileSync(pageFile, page);
}
