/** One exhibit on one stack, run for real: server, balancer, caller; what both ends saw, as a row. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { runAgent } from "./agent.ts";
import { startBalancer } from "./balancer.ts";
import type { Exhibit, Pace, Scene } from "./exhibits.ts";
import { readDeeds } from "./ledger.ts";
import type { DemoProcesses, DemoServer } from "./processes.ts";
import { type Row, rowOf, type Stack } from "./row.ts";
import type { ToolSettings } from "./tools.ts";

export interface ExhibitRun {
  readonly exhibit: Exhibit;
  readonly stack: Stack;
  readonly pace: Pace;
  /** For ledger and log; of this run alone. */
  readonly directory: string;
  readonly processes: DemoProcesses;
  /** Stop early: what the row then says is not the exhibit. */
  readonly signal: AbortSignal;
}

/** @throws {@link HoldfastError} `ERR_UPSTREAM_START` */
export async function runExhibit(run: ExhibitRun): Promise<Row> {
  const { exhibit, stack, directory, pace } = run;
  await mkdir(directory, { recursive: true });
  const tools: ToolSettings = {
    ...pace,
    ledger: join(directory, "ledger.txt"),
    goFile: join(directory, "go"),
  };
  const server = await restartableServer((port) => startServer(run, tools, port));
  const balancer = await startBalancer(server.port);
  const caller = observedCaller(pace.entriesBefore);
  const calls = runAgent({
    url: `http://127.0.0.1:${balancer.port}/mcp`,
    tool: exhibit.tool,
    isOurClient: stack === "client" || stack === "alone",
    callTimeoutMs: pace.callTimeoutMs,
    attemptsMax: pace.attemptsMax,
    events: caller,
    signal: run.signal,
  });
  const over = new AbortController();
  const signal = AbortSignal.any([run.signal, over.signal]);
  const scene: Scene = {
    ...caller.moments,
    cutAll: balancer.cutAll,
    cutSilent: balancer.cutSilent,
    refuseFor: balancer.refuseFor,
    letReportGoOn: () => writeFile(tools.goFile, ""),
    effectMade: () => deedEntered(tools.ledger, signal),
    killAndRestart: server.killAndRestart,
  };
  // What an exhibit waits for may never come; only its failure matters here.
  const failed = new Promise<never>((_, reject) => exhibit.disturb(scene).catch(reject));
  try {
    const attempts = await Promise.race([calls, failed]);
    const deeds = readDeeds(tools.ledger);
    const { received, gaps } = caller;
    const facts = { incident: exhibit.incident, exhibit: exhibit.id, stack };
    const faults = { ...balancer.counts, kills: server.kills() };
    return rowOf(facts, { deeds, received, gaps, attempts, ...faults });
  } finally {
    over.abort();
    await balancer.close();
  }
}

function startServer(run: ExhibitRun, tools: ToolSettings, port: number): Promise<DemoServer> {
  const { exhibit, stack, directory, processes } = run;
  if (stack === "stock" || stack === "alone")
    return processes.startStock(port, tools, exhibit.store);
  const logFile = join(directory, "holdfast.db");
  const options = stack === "client" ? exhibit.ownServeOptions : exhibit.serveOptions;
  return processes.startHoldfast(port, tools, { logFile, options });
}

/** A server that comes back on the port of its first start. */
async function restartableServer(start: (port: number) => Promise<DemoServer>) {
  let server = await start(0);
  let kills = 0;
  const { port } = server;
  return {
    port,
    kills: () => kills,
    killAndRestart: async () => {
      await server.kill();
      kills += 1;
      server = await start(port);
    },
  };
}

const pollMs = 10;

async function deedEntered(ledger: string, signal: AbortSignal): Promise<void> {
  while (readDeeds(ledger).length === 0) await delay(pollMs, undefined, { signal });
}

/** What the caller received, and promises of it. */
function observedCaller(entriesBefore: number) {
  const received: string[] = [];
  const gaps: (number | null)[] = [];
  const connected = Promise.withResolvers<void>();
  const cursorHeld = Promise.withResolvers<void>();
  const reportWaits = Promise.withResolvers<void>();
  return {
    ...{ received, gaps },
    moments: {
      connected: connected.promise,
      cursorHeld: cursorHeld.promise,
      reportWaits: reportWaits.promise,
    },
    onConnected: connected.resolve,
    onCursor: cursorHeld.resolve,
    onMark: (mark: string) => {
      received.push(mark);
      if (received.length === entriesBefore) reportWaits.resolve();
    },
    onGap: (lostEvents: number | null) => void gaps.push(lostEvents),
  };
}
