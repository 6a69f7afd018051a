/**
 * What an event costs in the SQLite log, beside a bare INSERT into a table of one index: both in
 * batches of 32, with and without waiting for the disk.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SessionId } from "@holdfast/log";
import { sqliteLog } from "@holdfast/log-sqlite";
import type { Report } from "./report.ts";
import { createSamples, rotated } from "./statistics.ts";

const batch = 32;
const text = JSON.stringify({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: 42, total: 100, message: "still at work" },
});

interface Contestant {
  readonly name: Name;
  /** Write one batch. */
  append(): Promise<void>;
  close(): Promise<void>;
}

const durabilities = ["process", "power"] as const;

type SqliteDurability = (typeof durabilities)[number];

type Name = `${"log" | "bare"}, ${SqliteDurability}`;

export interface AppendOptions {
  readonly rounds: number;
  /** In each round, of each contestant. */
  readonly batches: number;
}

export async function measureAppend(options: AppendOptions): Promise<Report> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const cpu = createSamples<Name>();
  const wall = createSamples<Name>();
  const contestants: Contestant[] = [];
  try {
    for (const durability of durabilities) {
      contestants.push(bareInsert(directory, durability), await ourLog(directory, durability));
    }
    for (let round = -1; round < options.rounds; round += 1) {
      for (const one of rotated(contestants, Math.max(round, 0))) {
        const { cpuUs, wallUs } = await measureRound(one, options.batches);
        if (round < 0) continue;
        cpu.add(one.name, cpuUs);
        wall.add(one.name, wallUs);
      }
    }
  } finally {
    for (const contestant of contestants) await contestant.close();
    rmSync(directory, { recursive: true, force: true });
  }
  const row = (title: string, name: Name, bare: Name) => [
    title,
    cpu.median(name).toFixed(1),
    wall.median(name).toFixed(1),
    cpu.ratio(name, bare).toFixed(2),
  ];
  return {
    title: `append: one event of ${text.length} bytes, in batches of ${batch}`,
    note:
      `${batch} commits of one event each in one turn of the event loop; medians of ` +
      `${options.rounds} alternating rounds of ${options.batches} batches. A commit of the log ` +
      "judges, counts, caps and wakes; the bare INSERT does nothing else.",
    columns: ["", "µs, processor", "µs, wall", "÷ bare"],
    rows: durabilities.flatMap((durability) => [
      row(`bare INSERT, ${durability}`, `bare, ${durability}`, `bare, ${durability}`),
      row(`SQLite log, ${durability}`, `log, ${durability}`, `bare, ${durability}`),
    ]),
    bounds: [],
  };
}

async function measureRound(
  contestant: Contestant,
  batches: number,
): Promise<{ readonly cpuUs: number; readonly wallUs: number }> {
  const before = process.cpuUsage();
  const startedMs = performance.now();
  for (let i = 0; i < batches; i += 1) await contestant.append();
  const wallUs = ((performance.now() - startedMs) * 1000) / (batches * batch);
  const { user, system } = process.cpuUsage(before);
  return { cpuUs: (user + system) / (batches * batch), wallUs };
}

function bareInsert(directory: string, durability: SqliteDurability): Contestant {
  const db = new DatabaseSync(join(directory, `bare-${durability}.db`));
  const synchronous = durability === "power" ? "full" : "normal";
  db.exec(`pragma journal_mode = wal; pragma synchronous = ${synchronous};
    create table events (seq integer primary key, session integer, stream integer,
      position integer, text text) strict;
    create unique index events_of on events (session, stream, position)`);
  const [begin, insert, commit] = [
    "begin immediate",
    "insert into events (session, stream, position, text) values (1, 1, ?, ?)",
    "commit",
  ].map((sql) => db.prepare(sql));
  let position = 0;
  return {
    name: `bare, ${durability}`,
    append: async () => {
      begin?.run();
      for (let i = 0; i < batch; i += 1) {
        position += 1;
        insert?.run(position, text);
      }
      commit?.run();
    },
    close: async () => db.close(),
  };
}

async function ourLog(directory: string, durability: SqliteDurability): Promise<Contestant> {
  const log = sqliteLog(join(directory, `log-${durability}.db`), { durability });
  const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
  const retention = { windowMs: 30 * 60_000, maxEvents: 1e9, maxBytes: 1e12 };
  await log.open({ idempotencyTtlMs: 86_400_000, retention, clock });
  const session = "bench-session" as SessionId;
  const call = { id: "1", method: "tools/call", name: "echo", startedAtMs: Date.now() };
  await log.commit(session, {
    fence: 0,
    ops: [
      { op: "create", tag: "0".repeat(16), principal: "", data: "" },
      { op: "open", stream: 1, calls: [call] },
    ],
  });
  const ops = [{ op: "append", stream: 1, kind: "notification", text }] as const;
  return {
    name: `log, ${durability}`,
    append: async () => {
      const commits = Array.from({ length: batch }, () => log.commit(session, { fence: 0, ops }));
      const outcomes = await Promise.all(commits);
      if (outcomes.some(({ kind }) => kind !== "committed")) throw new Error("an event was lost");
    },
    close: () => log.close(),
  };
}
