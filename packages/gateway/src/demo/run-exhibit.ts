/** One exhibit on one stack, run for real: server, balancer, caller; what both ends saw, as a row. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runAgent } from "./agent.ts";
import { type Balancer, startBalancer } from "./balancer.ts";
import type { Exhibit, Pace, Scene } from "./exhibits.ts";
import { readDeeds } from "./ledger.ts";
import type { DemoProcesses } from "./processes.ts";
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
  const targetPort = await startServer(run, tools);
  const balancer = await startBalancer(targetPort);
  const caller = observedCaller(pace.entriesBefore);
  const calls = runAgent({
    url: `http://127.0.0.1:${balancer.port}/mcp`,
    tool: exhibit.tool,
    callTimeoutMs: pace.callTimeoutMs,
    attemptsMax: pace.attemptsMax,
    events: caller,
    signal: run.signal,
  });
  const scene = sceneOf(balancer, caller, tools.goFile);
  // What an exhibit waits for may never come; only its failure matters here.
  const failed = new Promise<never>((_, reject) => exhibit.disturb(scene).catch(reject));
  try {
    const attempts = await Promise.race([calls, failed]);
    const deeds = readDeeds(tools.ledger);
    const { received, gaps } = caller;
    const facts = { incident: exhibit.incident, exhibit: exhibit.id, stack };
    return rowOf(facts, { deeds, received, gaps, attempts, ...balancer.counts });
  } finally {
    await balancer.close();
  }
}

function startServer({ exhibit, stack, directory, processes }: ExhibitRun, tools: ToolSettings) {
  if (stack === "stock") return processes.startStock(tools, exhibit.store);
  return processes.startHoldfast(tools, join(directory, "holdfast.db"), exhibit.serveOptions);
}

type ObservedCaller = ReturnType<typeof observedCaller>;

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

function sceneOf(balancer: Balancer, caller: ObservedCaller, goFile: string): Scene {
  return {
    ...caller.moments,
    cutAll: balancer.cutAll,
    cutSilent: balancer.cutSilent,
    refuseFor: balancer.refuseFor,
    letReportGoOn: () => writeFile(goFile, ""),
  };
}
