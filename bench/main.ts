/**
 * Measurements, as ratios within one run: `npm run bench -- call telemetry resume append client-state memory abandoned`, or `all`.
 * Fails when a bound is broken. With `--write` the reports go into docs/benchmarks.md too,
 * each in its place.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { parseArgs } from "node:util";
import { measureAbandoned } from "./abandoned.ts";
import { measureAppend } from "./append.ts";
import { measureCall } from "./call.ts";
import { measureClientState } from "./client-state.ts";
import { measureMemory } from "./memory.ts";
import { isHeld, type Report, writeReport } from "./report.ts";
import { measureResume } from "./resume.ts";
import { measureTelemetry } from "./telemetry.ts";

const rounds = 5;

const measurements: ReadonlyMap<string, () => Promise<Report>> = new Map([
  ["call", () => measureCall({ rounds, calls: 3_000 })],
  ["telemetry", () => measureTelemetry({ rounds: 15, calls: 700, processes: 3 })],
  ["resume", () => measureResume({ rounds, resumes: 500 })],
  ["append", () => measureAppend({ rounds, batches: 500 })],
  ["client-state", () => measureClientState({ rounds, messages: 20_000 })],
  ["memory", () => measureMemory({ sessions: 2_000 })],
  ["abandoned", () => measureAbandoned({ sessions: 10_000 })],
]);

const page = new URL("../docs/benchmarks.md", import.meta.url);
const marks = {
  begin: "<!-- figures: made by `npm run bench -- all --write` -->",
  end: "<!-- end -->",
};

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { write: { type: "boolean", default: false } },
  });
  const names = positionals.includes("all") ? [...measurements.keys()] : positionals;
  const unknown = names.find((name) => !measurements.has(name));
  if (names.length === 0 || unknown !== undefined) {
    const known = [...measurements.keys(), "all"].join(", ");
    console.error(`Say what to measure${unknown && `; there is no "${unknown}"`}: ${known}.`);
    return 2;
  }
  const reports: Report[] = [];
  for (const name of names) {
    const report = await measurements.get(name)?.();
    if (report === undefined) continue;
    console.log(`\n${writeReport(report)}`);
    reports.push(report);
  }
  if (values.write) writePage(reports);
  return reports.every(({ bounds }) => bounds.every(isHeld)) ? 0 : 1;
}

/**
 * Put the figures between the page's marks; what stands around them is written by hand, and the
 * figures of what was not measured now stay.
 */
function writePage(reports: readonly Report[]): void {
  const text = readFileSync(page, "utf8");
  const [before, rest] = text.split(marks.begin);
  const [old, after] = rest?.split(marks.end) ?? [];
  if (before === undefined || old === undefined || after === undefined) {
    throw new Error(`${page} has lost its marks.`);
  }
  const machine = `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), Node ${process.version}`;
  const made = reports.map((report) => `${writeReport(report)}\n\nMeasured on ${machine}.`);
  const sections = new Map(
    [...old.split(/^(?=### )/m).slice(1), ...made].map((section) => {
      return [/^### ([\w-]+)/.exec(section)?.[1] ?? "", section.trim()];
    }),
  );
  const known = [...measurements.keys()].flatMap((name) => sections.get(name) ?? []);
  const figures = known.join("\n\n");
  writeFileSync(page, `${before}${marks.begin}\n\n${figures}\n\n${marks.end}${after}`);
}

process.exitCode = await main();
