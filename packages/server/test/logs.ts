/** Fresh event logs of each kind that the suite runs with. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EventLog, memoryLog } from "@holdfast/log";
import { sqliteLog } from "@holdfast/log-sqlite";
import type { LogKind } from "@holdfast/testkit/face-acceptance";

export interface FreshLog {
  readonly log: EventLog;
  /** Take away what it left on disk; the log must be closed. */
  remove(): Promise<void>;
}

export async function openLog(kind: LogKind): Promise<FreshLog> {
  if (kind === "memory") return { log: memoryLog(), remove: async () => {} };
  const directory = await mkdtemp(join(tmpdir(), "holdfast-face-"));
  return {
    log: sqliteLog(join(directory, "sessions.db")),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
