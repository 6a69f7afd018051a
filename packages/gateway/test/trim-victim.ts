/**
 * A process that trims its log and is killed in the middle of it: after the events are gone, before
 * it is noted how far the stream went.
 *
 *     node trim-victim.ts FILE sweep|caps
 */
import { StatementSync } from "node:sqlite";
import type { SessionId } from "@holdfast/log";
import { sqliteLog } from "@holdfast/log-sqlite";

const [, , file = "", how = ""] = process.argv;
const session = "trimmed" as SessionId;
const tag = "0123456789abcdef";
let nowMs = 1_000_000;

// The statement that notes it is the moment.
const run = StatementSync.prototype.run;
let isArmed = false;
StatementSync.prototype.run = function (...values) {
  if (isArmed && /^\s*update streams set evicted_through/.test(this.sourceSQL)) {
    process.kill(process.pid, "SIGKILL");
    // The signal is on its way: nothing more is written until it comes.
    for (;;);
  }
  return Reflect.apply(run, this, values);
};

const log = sqliteLog(file);
await log.open({
  retention: { windowMs: 1_000, maxEvents: how === "caps" ? 4 : 1_000, maxBytes: 1_000_000 },
  idempotencyTtlMs: 3_600_000,
  clock: { monotonicMs: () => nowMs, wallMs: () => nowMs },
});
const note = { op: "append", stream: 0, kind: "notification", text: "note" } as const;
await log.commit(session, {
  fence: 0,
  ops: [{ op: "create", tag, principal: "", data: "" }, note, note, note],
});
process.stdout.write("noted 3\n");
isArmed = true;
if (how === "caps") {
  const call = { id: "1", method: "tools/call", startedAtMs: 0 };
  const other = { ...note, stream: 1 } as const;
  await log.commit(session, {
    fence: 0,
    ops: [{ op: "open", stream: 1, calls: [call] }, other, other, other, other],
  });
} else {
  nowMs += 10_000;
  await log.sweep();
}
process.stdout.write("not killed\n");
