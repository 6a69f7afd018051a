/** Killed while events leave the log: all of it has happened, or nothing. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SessionId } from "@holdfast/log";
import { sqliteLog } from "@holdfast/log-sqlite";
import {
  disposeAll,
  fakeClock,
  onDispose,
  spawnProcess,
  verifies,
  within,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { scratchDirectory } from "./gateway-process.ts";

afterEach(disposeAll);

const victim = fileURLToPath(new URL("./trim-victim.ts", import.meta.url));
const session = "trimmed" as SessionId;

test.each(["sweep", "caps"])(
  `${verifies("E-02", "R-03", "W-03")}killed during a trim (%s), no position is given twice, nothing is lost unseen`,
  async (how) => {
    const file = join(scratchDirectory(), "log.db");
    const process = await spawnProcess("node", [victim, file, how]);
    const exit = await within(process.exited, "the kill");
    expect({ ...exit, stdout: process.stdout }).toEqual({
      ...{ code: null, signal: "SIGKILL", stdout: "noted 3\n" },
    });
    const log = sqliteLog(file);
    onDispose(() => log.close());
    await log.open({
      retention: { windowMs: 1_000_000, maxEvents: 1_000, maxBytes: 1_000_000 },
      ...{ idempotencyTtlMs: 3_600_000, clock: fakeClock() },
    });
    const state = await log.stream(session, 0);
    expect(state).toMatchObject({ head: 3 });
    const evicted = state?.evictedThrough ?? 0;
    const outcome = await log.commit(session, {
      fence: 0,
      ops: [{ op: "append", stream: 0, kind: "notification", text: "after" }],
    });
    expect(outcome).toMatchObject({ kind: "committed", appended: [{ position: 4 }] });
    const [place] = outcome.kind === "committed" ? outcome.appended : [];
    const incarnation = state?.runs[0]?.incarnation ?? "";
    const cursor = { tag: place?.tag ?? "", stream: 0, position: evicted, incarnation };
    const read = await log.read(session, cursor, { events: 100, bytes: 1_000_000 });
    const positions =
      read.kind === "events" ? read.events.map((event) => event.place.position) : [];
    expect(positions).toEqual([1, 2, 3, 4].filter((position) => position > evicted));
  },
);
