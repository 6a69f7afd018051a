/**
 * Write docs/errors.md from the tables of the contract.
 *
 *     node --conditions=holdfast-source scripts/make-errors-page.ts [--check]
 *
 * With `--check` nothing is written: exit code 1 when the page is not what the tables say.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { errorCodes, errorTable, outcomeUnknownReasons, refusals } from "@holdfast/contract";

const pageUrl = new URL("../docs/errors.md", import.meta.url);

function errorsPage(): string {
  return `# Errors

Made from the tables in \`packages/contract/src\` by \`scripts/make-errors-page.ts\`; do not edit.

Programs decide by a code or a type, never by the text of a message.

## Refusals over HTTP

The body is a JSON-RPC error; \`error.data.type\` is the type below. "Did not run": a POST that is
refused so certainly had no effect.

${table(
  ["type", "status", "code", "did not run", "meaning"],
  Object.entries(refusals).map(([type, { status, code, isNotRun, title }]) => [
    `\`${type}\``,
    String(status),
    String(code),
    isNotRun ? "yes" : "not known",
    title,
  ]),
)}

## Calls of unknown outcome

A call that may or may not have run is answered with JSON-RPC error ${errorCodes.outcomeUnknown} on
its own stream; \`error.data.reason\` is one of these. Check whether it took effect before you repeat
it.

${table(
  ["reason", "what happened"],
  Object.entries(outcomeUnknownReasons).map(([reason, text]) => [`\`${reason}\``, text]),
)}

## Errors of the command and the libraries

Thrown as \`HoldfastError\` (\`LogError\`, \`ClientError\`, \`SessionResumptionError\`) with \`code\`, a
message for people and a \`hint\`. What a file of state is to the client, \`ERR_STATE_…\`, a log is to the
server, \`ERR_LOG_…\`.

${table(
  ["code", "meaning", "what to do"],
  Object.entries(errorTable).map(([code, { meaning, fix }]) => [`\`${code}\``, meaning, fix]),
)}
`;
}

/** Cells are padded, as the formatter would do. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[], filler: string) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0, filler)).join(" | ")} |`;
  const rule = line(Array<string>(head.length).fill(""), "-");
  return [line(head, " "), rule, ...rows.map((row) => line(row, " "))].join("\n");
}

const page = errorsPage();
if (!process.argv.includes("--check")) {
  writeFileSync(pageUrl, page);
} else if (readFileSync(pageUrl, "utf8") !== page) {
  console.error("docs/errors.md is not what the tables say: run scripts/make-errors-page.ts");
  process.exitCode = 1;
}
