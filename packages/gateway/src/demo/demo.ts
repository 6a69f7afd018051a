/** The whole demo: exhibits on stacks, side by side, and nothing left behind. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Exhibit, Pace } from "./exhibits.ts";
import type { DemoProcesses } from "./processes.ts";
import type { Row, Stack } from "./row.ts";
import { runExhibit } from "./run-exhibit.ts";

export interface DemoSettings {
  readonly exhibits: readonly Exhibit[];
  readonly stacks: readonly Stack[];
  readonly pace: Pace;
  readonly processes: DemoProcesses;
  /** Stop; the servers are ended all the same. */
  readonly signal: AbortSignal;
  onRow(row: Row, exhibit: Exhibit): void;
}

/**
 * Run all exhibits.
 *
 * @returns their rows in the order of the list; none when it was stopped
 * @throws {@link HoldfastError} `ERR_UPSTREAM_START`
 */
export async function runDemo(settings: DemoSettings): Promise<readonly Row[]> {
  const { exhibits, stacks, pace, processes, onRow } = settings;
  const directory = await mkdtemp(join(tmpdir(), "holdfast-demo-"));
  // When one exhibit fails, the others end with it.
  const failure = new AbortController();
  const signal = AbortSignal.any([settings.signal, failure.signal]);
  const run = async (exhibit: Exhibit, stack: Stack) => {
    const own = join(directory, `${exhibit.id}-${stack}`);
    const row = await runExhibit({ exhibit, stack, pace, directory: own, processes, signal });
    if (!signal.aborted) onRow(row, exhibit);
    return row;
  };
  const runs = exhibits.flatMap((exhibit) => stacks.map((stack) => run(exhibit, stack)));
  const stopped = new Promise<readonly Row[]>((resolve) => {
    settings.signal.addEventListener("abort", () => resolve([]));
  });
  try {
    return await Promise.race([Promise.all(runs), stopped]);
  } finally {
    failure.abort();
    await processes.stopAll();
    await Promise.allSettled(runs);
    await rm(directory, { recursive: true, force: true });
  }
}
