/** One bounded step of what time undoes: sweep.sql, and who is told of it. */
import { type Eviction, purgeAfterMs, type SessionId, tombstoneMs } from "@holdfast/log";
import type { Desk } from "./desk.ts";

/** Rows that one step may delete; a large one counts as several. */
const costMax = 500;

/** A row of sweep.sql. */
interface SweepRow {
  readonly what: "evicted" | "behind";
  readonly name: string;
  readonly stream: number;
  readonly through: number;
  readonly events: number;
  readonly bytes: number;
  readonly at_ms: number;
}

export interface Swept {
  readonly evictions: readonly Eviction[];
  readonly isBehind: boolean;
}

export async function sweepStep({ connections, settings, time }: Desk): Promise<Swept> {
  const { retention, idempotencyTtlMs } = settings;
  const nowMs = time.nowMs();
  const rows = await connections.ask<SweepRow>(
    "sweep-call",
    ...[nowMs, retention.windowMs, purgeAfterMs, tombstoneMs, idempotencyTtlMs, costMax],
  );
  const evictions: Eviction[] = [];
  for (const { what, name, stream, through, events, bytes, at_ms } of rows) {
    if (what !== "evicted") continue;
    const why = { cause: "window", isBreach: false, ageMs: nowMs - at_ms } as const;
    evictions.push({ session: name as SessionId, stream, through, events, bytes, ...why });
  }
  return { evictions, isBehind: rows.some(({ what }) => what === "behind") };
}
