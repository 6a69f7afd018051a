/**
 * What a call costs its server: a `tools/call` answered over SSE by Holdfast with its SQLite log,
 * beside a handler of node:http that keeps nothing, the same handler with the least that makes an
 * answer durable, and the official SDK with its store in memory.
 */

import { type Load, openLoad } from "./mcp-load.ts";
import { type MeasuredProcess, startMeasured } from "./measured-process.ts";
import type { Report } from "./report.ts";
import { createSamples, rotated, type Samples } from "./statistics.ts";

/** Calls at a time. */
export const inFlight = 16;
const warmUpRounds = 3;

const contestants = [
  { name: "plain", title: "plain node:http, keeps nothing" },
  { name: "floor", title: "plain, two writes and two bare INSERTs" },
  { name: "holdfast", title: "Holdfast, SQLite log" },
  { name: "sdk-v2", title: "SDK v2, store in memory" },
  { name: "sdk-v1", title: "SDK v1, store in memory" },
] as const;

type Name = (typeof contestants)[number]["name"];

/** How the calls in flight are spread. */
const spreads = [
  { sessions: inFlight, title: `${inFlight} sessions` },
  { sessions: 1, title: "one session" },
] as const;

export interface CallOptions {
  readonly rounds: number;
  /** In each round, of each server. */
  readonly calls: number;
  /** Processes of each server; two of one kind differ by some per cent. Default 1. */
  readonly processes?: number;
}

interface Running<Name extends string> {
  readonly name: Name;
  readonly server: MeasuredProcess;
  readonly load: Load;
}

export async function measureCall(options: CallOptions): Promise<Report> {
  const results: Samples<Name>[] = [];
  const names = contestants.map(({ name }) => name);
  for (const { sessions } of spreads) results.push(await measureCpu(names, sessions, options));
  const cells = (name: Name) =>
    results.flatMap((samples) => [
      samples.median(name).toFixed(0),
      samples.ratio(name, "plain").toFixed(2),
    ]);
  return {
    title: "call: server processor time for one tools/call",
    note:
      `${inFlight} calls in flight, a trivial tool; medians of ${options.rounds} alternating ` +
      `rounds of ${options.calls} calls. The server has a process of its own; its user and system ` +
      "time is counted, that of the load is not.",
    columns: ["server", ...spreads.flatMap(({ title }) => [`µs, ${title}`, "÷ plain"])],
    rows: contestants.map(({ name, title }) => [title, ...cells(name)]),
    bounds: spreads.flatMap(({ title }, i) => {
      const ratio = (to: Name) => results[i]?.ratio("holdfast", to) ?? Number.NaN;
      return [
        { name: `Holdfast ÷ plain node:http, ${title}`, value: ratio("plain"), max: 2 },
        { name: `Holdfast ÷ SDK v2, ${title}`, value: ratio("sdk-v2"), max: 0.5 },
      ];
    }),
  };
}

/**
 * Processor time for one call, microseconds, of several servers in one run, turn and turn about.
 *
 * @param names - of files in `servers/`
 * @param sessions - that the calls in flight are spread over
 */
export async function measureCpu<Name extends string>(
  names: readonly Name[],
  sessions: number,
  options: CallOptions,
): Promise<Samples<Name>> {
  const running: Running<Name>[] = [];
  const samples = createSamples<Name>();
  try {
    const { processes = 1 } = options;
    for (const name of Array.from({ length: processes }, () => names).flat()) {
      const server = await startMeasured(name);
      running.push({ name, server, load: await openLoad(server.port, inFlight, sessions) });
    }
    // The first rounds find code that is not compiled yet.
    for (let round = 0; round < warmUpRounds; round += 1) {
      for (const { load } of running) await load.run(options.calls);
    }
    for (let round = 0; round < options.rounds; round += 1) {
      for (const { name, server, load } of rotated(running, round)) {
        const beforeUs = await server.cpuUs();
        await load.run(options.calls);
        samples.add(name, ((await server.cpuUs()) - beforeUs) / options.calls);
      }
    }
  } finally {
    for (const { load } of running) load.close();
    await Promise.all(running.map(({ server }) => server.stop()));
  }
  return samples;
}
