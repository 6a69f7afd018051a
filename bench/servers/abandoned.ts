/**
 * Holdfast with sessions that nobody ends, and a clock that moves when it is told to: what is left of
 * them when they have expired, and when their tombstones are gone too.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionRuntime } from "@holdfast/server";
import { serveMeasured } from "../serve-measured.ts";
import { trivialUpstream } from "./trivial-upstream.ts";

/** What a server still holds of sessions that are over. */
export interface Leftovers {
  readonly sessions: number;
  readonly calls: number;
  readonly viewports: number;
  /** Rows of the log's file, all tables but its one row about itself, keys included. */
  readonly rows: number;
}

const idleTtlMs = 1_000;
const retention = { windowMs: 2_000, maxEvents: 10_000, maxBytes: 2 ** 26 };
const options = { path: "/mcp", idleTtlMs, retention, clientReconnectMs: 500 };
const purgeMs = 61_000;
const tombstoneMs = 24 * 3_600_000;

let passedMs = 0;
const clock = { monotonicMs: () => 1_000 + passedMs, wallMs: () => Date.UTC(2030) + passedMs };

/** Sessions that were opened and are not over. */
let open = 0;
let onAllOver = () => {};
const silent = () => {};
const logger = {
  ...{ debug: silent, warn: silent, error: console.error },
  info: (_facts: object, message: string) => {
    if (message !== "session expired") return;
    open -= 1;
    if (open === 0) onAllOver();
  },
};

const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
const file = join(directory, "sessions.db");
const log = sqliteLog(file);
const upstream = {
  ...trivialUpstream,
  start: (...started: Parameters<typeof trivialUpstream.start>) => {
    open += 1;
    return trivialUpstream.start(...started);
  },
};
const runtime = createSessionRuntime({ log, upstream, options, logger, clock });
await runtime.ready();

async function sweepAll(): Promise<void> {
  while ((await log.sweep()).isBehind);
}

function countRows(): number {
  const db = new DatabaseSync(file, { readOnly: true });
  const counted = ["sessions", "streams", "events", "claims"].map((table) =>
    Number(db.prepare(`select count(*) as n from ${table}`).get()?.["n"]),
  );
  db.close();
  return counted.reduce((sum, rows) => sum + rows, 0);
}

async function forget(): Promise<Leftovers> {
  const allOver = new Promise<void>((resolve) => {
    onAllOver = resolve;
  });
  // Step by step: a connection that was cut may be noticed after the first.
  const ticks = setInterval(() => {
    passedMs += idleTtlMs;
  }, 20);
  if (open > 0) await allOver;
  clearInterval(ticks);
  passedMs += purgeMs;
  await sweepAll();
  passedMs += tombstoneMs;
  await sweepAll();
  return {
    sessions: runtime.sessionCount(),
    calls: runtime.callCount(),
    viewports: runtime.viewportCount(),
    rows: countRows(),
  };
}

serveMeasured(runtime.node, {
  forget,
  close: async () => {
    await runtime.close();
    rmSync(directory, { recursive: true, force: true });
  },
});
