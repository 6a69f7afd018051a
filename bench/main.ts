/**
 * Measurements, as ratios within one run: `npm run bench -- call`. Fails when a bound is broken.
 */
import { parseArgs } from "node:util";
import { measureCall } from "./call.ts";
import { isHeld, type Report, writeReport } from "./report.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    calls: { type: "string", default: "3000" },
  },
});

const rounds = Number(values.rounds);

const measurements: Readonly<Record<string, () => Promise<Report>>> = {
  call: () => measureCall({ rounds, calls: Number(values.calls) }),
};

const reports: Report[] = [];
for (const name of positionals) {
  const measure = measurements[name];
  if (measure === undefined) {
    console.error(`There is no measurement "${name}"; there are ${Object.keys(measurements)}.`);
    process.exit(2);
  }
  const report = await measure();
  console.log(`\n${writeReport(report)}`);
  reports.push(report);
}
process.exitCode = reports.every(({ bounds }) => bounds.every(isHeld)) ? 0 : 1;
