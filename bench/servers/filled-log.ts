/**
 * Holdfast over a log that holds many events already: streams of one answered call each, in many
 * sessions or in one. Started with the number of streams and of sessions.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { encodeEventId, type Retention } from "@holdfast/contract";
import type { Op, SessionId } from "@holdfast/log";
import { sqliteLog } from "@holdfast/log-sqlite";
import { createSessionRuntime } from "@holdfast/server";
import { serveMeasured } from "../serve-measured.ts";
import { protocolVersion } from "./tool.ts";
import { trivialUpstream } from "./trivial-upstream.ts";

/** Events of a stream: what a resume from its beginning shows. */
export const streamEvents = 100;

/** Where a resume begins: a session, and the cursor before a stream's first event. */
export interface ResumePoint {
  readonly session: string;
  readonly cursor: string;
}

const retention: Retention = { windowMs: 30 * 60_000, maxEvents: 1e9, maxBytes: 1e12 };
const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
const eventText = JSON.stringify({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: 42, total: streamEvents, message: "still at work" },
});

/** What a session keeps of itself, as the runtime itself writes it. */
async function sessionData(path: string): Promise<string> {
  const log = sqliteLog(path);
  const runtime = createSessionRuntime({ log, upstream: trivialUpstream });
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  const response = await runtime.fetch(
    new Request("http://127.0.0.1/mcp", {
      method: "POST",
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }),
    }),
  );
  await response.text();
  const session = response.headers.get("mcp-session-id") as SessionId;
  const data = (await log.session(session))?.data;
  await runtime.close();
  if (data === undefined) throw new Error("the session is not in the log");
  return data;
}

async function fill(path: string, streams: number, sessions: number): Promise<ResumePoint[]> {
  const data = await sessionData(path);
  const log = sqliteLog(path);
  await log.open({ idempotencyTtlMs: 86_400_000, retention, clock });
  const points: ResumePoint[] = [];
  for (let i = 0; i < streams; i += 1) {
    const session = `bench-session-${i % sessions}` as SessionId;
    const tag = (i % sessions).toString(16).padStart(16, "0");
    const stream = 1 + Math.floor(i / sessions);
    const create: Op[] = stream === 1 ? [{ op: "create", tag, principal: "", data }] : [];
    const call = { id: "1", method: "tools/call", name: "echo", startedAtMs: Date.now() };
    const notification = { op: "append", stream, kind: "notification", text: eventText } as const;
    const outcome = await log.commit(session, {
      fence: 0,
      ops: [
        ...create,
        { op: "open", stream, calls: [call] },
        ...Array.from({ length: streamEvents - 1 }, () => notification),
        { op: "append", stream, kind: "response", call: 0, text: eventText },
      ],
    });
    const begin = outcome.kind === "committed" ? outcome.begun.at(-1) : undefined;
    if (begin === undefined) throw new Error(`filling the log: ${outcome.kind}`);
    points.push({ session, cursor: encodeEventId(begin) });
  }
  await log.close();
  return points;
}

async function main(streams: number, sessions: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const path = join(directory, "sessions.db");
  const points = await fill(path, streams, sessions);
  const runtime = createSessionRuntime({
    log: sqliteLog(path),
    upstream: trivialUpstream,
    options: { path: "/mcp", retention },
  });
  await runtime.ready();
  serveMeasured(runtime.node, {
    facts: points,
    close: async () => {
      await runtime.close();
      rmSync(directory, { recursive: true, force: true });
    },
  });
}

if (import.meta.main) await main(Number(process.argv[2]), Number(process.argv[3]));
