/** A disk that is full to the last byte: refused plainly, nothing lost, and back by itself. */
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import {
  acceptBoth,
  answerOf,
  disposeAll,
  type EventStream,
  initializeMessage,
  openEventStream,
  openSession,
  smallDisk,
  verifies,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { scratchDirectory, startGateway } from "./gateway-process.ts";
import { remoteServer } from "./remote-server.ts";

afterEach(disposeAll);

const diskKilobytes = 4096;
/** Each call adds some pages to the log: the disk is full long before. */
const attemptsMax = diskKilobytes / 4;

/** Take all the room that is left. @returns gives it back */
function fill(directory: string): () => void {
  const file = join(directory, "ballast");
  const ballast = openSync(file, "w");
  try {
    for (let bytes = 64 * 1024; bytes >= 1; ) {
      try {
        writeSync(ballast, Buffer.alloc(bytes));
      } catch {
        bytes /= 2;
      }
    }
  } finally {
    closeSync(ballast);
  }
  return () => rmSync(file);
}

/** Repeat a POST until it is refused. @returns those that were taken, and the refusal */
async function untilRefused(
  post: (attempt: number) => Promise<EventStream>,
): Promise<{ readonly taken: readonly EventStream[]; readonly refused: EventStream }> {
  const taken: EventStream[] = [];
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const stream = await post(attempt);
    if (stream.status !== 200) return { taken, refused: stream };
    taken.push(stream);
  }
  throw new Error(`the disk took ${attemptsMax} calls`);
}

async function expectUnavailable(refused: EventStream): Promise<void> {
  expect(refused.status).toBe(503);
  expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
  expect((await answerOf(refused)).error).toMatchObject({
    code: -32000,
    data: { type: "store-unavailable", notRun: true },
  });
}

test(`${verifies("P-02", "D-03", "E-03", "c043")}a full disk: 503, the session and its calls intact, and back when there is room`, async ({
  skip,
}) => {
  const disk = smallDisk(diskKilobytes) ?? skip("this user may not mount a small file system");
  const server = await remoteServer();
  const directory = scratchDirectory();
  const args = ["serve", "--log", `sqlite:${join(disk, "log.db")}`, ...server.command];
  const gateway = await startGateway(args, directory);
  const session = await openSession(gateway.url);
  // More than any commit that fails can leave free: the first result to come does not fit.
  const large = "x".repeat(100_000);
  const running = await session.request("slow", { large });
  await server.hasBegun(1);

  const giveBack = fill(disk);
  const { taken, refused } = await untilRefused((n) => session.request("slow", { n }));
  await expectUnavailable(refused);
  const begun = 1 + taken.length;
  await server.hasBegun(begun);
  // Of new sessions some may fit into what a failed commit left; then none does.
  const births = await untilRefused(() =>
    openEventStream({
      ...{ url: gateway.url, method: "POST", body: JSON.stringify(initializeMessage()) },
      headers: { accept: acceptBoth, "content-type": "application/json" },
    }),
  );
  await expectUnavailable(births.refused);
  // Computed while nothing can be stored, and not shown before it is [C E-03].
  server.release();
  await gateway.line(/does not take writes/);
  expect([running, ...taken].flatMap(({ messages }) => messages)).toEqual([]);

  giveBack();
  const cursors = [];
  const results = [{ large }, ...taken.map((_, n) => ({ n }))];
  for (const [index, stream] of [running, ...taken].entries()) {
    expect((await stream.response()).result).toEqual(results[index]);
    await stream.rest();
    expect(stream.messages).toHaveLength(1);
    cursors.push(stream.events[0]?.id ?? "");
  }
  const after = await session.request("slow", { n: 1000 });
  await server.hasBegun(begun + 1);
  server.release();
  expect((await after.response()).result).toEqual({ n: 1000 });

  // Nothing that was shown was in memory alone, and what was refused did not run.
  await gateway.kill("SIGKILL");
  const next = await startGateway(args, directory);
  for (const [index, cursor] of cursors.entries()) {
    const headers = { "mcp-session-id": session.sessionId, "last-event-id": cursor };
    const again = await openEventStream({
      url: next.url,
      headers: { accept: "text/event-stream", ...headers },
    });
    expect((await again.response()).result).toEqual(results[index]);
  }
  expect(server.begun).toBe(begun + 1);
});
