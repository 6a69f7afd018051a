/**
 * `holdfast demo`: what it prints, how it is stopped, which code it ends with. The official SDK that
 * it compares with is loaded here and nowhere else in the command.
 */
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { HoldfastError } from "@holdfast/contract";
import { stopOnSignals } from "../stop-signals.ts";
import { demoPace, exhibits } from "./exhibits.ts";
import { demoProcesses } from "./processes.ts";
import { type Row, stacks } from "./row.ts";
import { demoTable, progressLine } from "./table.ts";

/**
 * Run the demo; progress to stderr, the table or the rows to stdout.
 *
 * @returns the exit code: 0 when every row of Holdfast is right, 1 otherwise, 130 when stopped
 * @throws {@link HoldfastError} `ERR_UPSTREAM_START`: the SDK is not installed, a server not startable
 */
export async function runDemoCommand({ isJson }: { readonly isJson: boolean }): Promise<number> {
  const { runDemo } = await loadDemo();
  const processes = demoProcesses();
  const abort = new AbortController();
  const handlers = { stop: () => abort.abort(), abandon: (code: number) => process.exit(code) };
  const onSignal = stopOnSignals(handlers, () => performance.now());
  process.on("exit", processes.killAll).on("SIGINT", onSignal).on("SIGTERM", onSignal);
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  say(
    `${exhibits.length} exhibits, each on the stock SDK, on Holdfast, and with our client; about 30 s.`,
  );
  const rows = await runDemo({
    exhibits,
    stacks,
    pace: demoPace,
    processes,
    signal: abort.signal,
    onRow: (row, exhibit) => say(progressLine(row, exhibit)),
  });
  if (abort.signal.aborted) return stoppedCode;
  const facts = { rows, exhibits, pace: demoPace, sdkVersion: readSdkVersion() };
  process.stdout.write(isJson ? `${JSON.stringify(rows, null, 2)}\n` : `\n${demoTable(facts)}`);
  return exitCodeOf(rows);
}

const stoppedCode = 130;

/** What the stock SDK does decides nothing: it may well get better. */
export function exitCodeOf(rows: readonly Row[]): 0 | 1 {
  return rows.every((row) => row.stack === "stock" || row.isRight) ? 0 : 1;
}

const sdk = "@modelcontextprotocol/sdk";

async function loadDemo(): Promise<typeof import("./demo.ts")> {
  try {
    return await import("./demo.ts");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes(sdk)) throw error;
    const problem = `The demo compares with the official SDK, ${sdk}, which is not installed.`;
    const hint = `Install it beside holdfast: npm install ${sdk}`;
    throw new HoldfastError("ERR_UPSTREAM_START", problem, { hint, cause: error });
  }
}

function readSdkVersion(): string {
  const manifest = new URL("../../../package.json", import.meta.resolve(`${sdk}/client/index.js`));
  return (JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string }).version;
}
