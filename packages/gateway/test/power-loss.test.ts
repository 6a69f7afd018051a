/**
 * The machine goes down, or an older copy of the file is put back: what the gateway then serves is
 * never mistaken for what its clients have seen [C R-08].
 *
 * A power cut is played by its two marks: the file as it was at an earlier commit, and a boot id
 * that is not this machine's.
 */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import {
  answerOf,
  disposeAll,
  type EventStream,
  openEventStream,
  openSession,
  type RawSession,
  verifies,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { type GatewayProcess, scratchDirectory, startGateway } from "./gateway-process.ts";
import { serverScript } from "./stdio-script.ts";

afterEach(disposeAll);

/** `notes { from, count }`: so many updates on the standalone stream. */
const server = serverScript(`{
  notes: ({ from, count }) => {
    for (let n = from; n < from + count; n++) {
      write({ method: "notifications/resources/updated", params: { uri: "n://" + n } });
    }
    return { noted: count };
  },
}`);

/** A client that knows the contract: a refusal is always a status [C R-09]. */
const knows = { "mcp-resume-contract": "1" };

interface Loss {
  readonly gateway: GatewayProcess;
  readonly session: RawSession;
  /** Cursors of what the copy holds, and of what came after it was made. */
  readonly kept: readonly string[];
  readonly lost: readonly string[];
}

/**
 * A gateway whose file was put back to an earlier committed state.
 *
 * @param bootId - in the copy; the machine's own if left out
 */
async function putBack(bootId?: string): Promise<Loss> {
  const directory = scratchDirectory();
  const file = join(directory, "log.db");
  const args = ["serve", "--log", `sqlite:${file}`, ...server];
  const first = await startGateway(args, directory);
  const session = await openSession(first.url, { headers: knows });
  const standalone = await session.get();
  const seen = async (from: number, count: number) => {
    const call = await session.request("notes", { from, count });
    expect((await answerOf(call)).result).toEqual({ noted: count });
    await call.rest();
    for (let n = from; n < from + count; n++) {
      await standalone.nextMessage(({ params }) => params?.uri === `n://${n}`);
    }
    return [...idsOf(call), ...idsOf(standalone).slice(-count)];
  };
  const kept = await seen(1, 3);
  const copy = `${file}.copy`;
  const source = new DatabaseSync(file, { readOnly: true });
  await backup(source, copy);
  source.close();
  const lost = await seen(4, 4);
  await first.kill("SIGKILL");

  for (const suffix of ["-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
  cpSync(copy, file);
  if (bootId !== undefined) {
    const db = new DatabaseSync(file);
    expect(db.prepare("update meta set boot_id = ?").run(bootId).changes).toBe(1);
    db.close();
  }
  const gateway = await startGateway(args, directory);
  return { gateway, session, kept, lost };
}

function idsOf(stream: EventStream): string[] {
  return stream.events.flatMap(({ id }) => (id === undefined ? [] : [id]));
}

function request(loss: Loss, method: string, headers: Record<string, string>, body?: string) {
  return openEventStream({
    ...{ url: loss.gateway.url, method, ...(body !== undefined && { body }) },
    headers: {
      ...{ accept: "application/json, text/event-stream", "content-type": "application/json" },
      ...{ "mcp-session-id": loss.session.sessionId, ...knows, ...headers },
    },
  });
}

const resume = (loss: Loss, cursor: string) => request(loss, "GET", { "last-event-id": cursor });

async function expectRefused(loss: Loss, cursors: readonly string[]): Promise<void> {
  expect(cursors.length).toBeGreaterThan(0);
  for (const cursor of cursors) {
    const refused = await resume(loss, cursor);
    expect({ cursor, status: refused.status }).toEqual({ cursor, status: 410 });
    expect((await answerOf(refused)).error).toMatchObject({
      code: -32010,
      data: { type: "resume-window-exceeded", requested: cursor, lostEvents: null },
    });
  }
}

async function noteMore(loss: Loss, from: number, count: number): Promise<void> {
  const body = { jsonrpc: "2.0", id: 1, method: "notes", params: { from, count } };
  const call = await request(loss, "POST", {}, JSON.stringify(body));
  expect((await answerOf(call)).result).toEqual({ noted: count });
}

test(`${verifies("R-08", "R-03", "S-07")}after a power loss every cursor from before is refused, each time, though the session lives`, async () => {
  const loss = await putBack("the start of the machine before this one");
  const before = [...loss.kept, ...loss.lost];
  await expectRefused(loss, before);
  await expectRefused(loss, before);
  // The log grows beyond every position that was ever shown: nothing is taken for what it was.
  await noteMore(loss, 8, 8);
  await expectRefused(loss, before);
});

test(`${verifies("R-08", "R-04")}what the refusal names is honoured after the loss`, async () => {
  const loss = await putBack("the start of the machine before this one");
  const [cursor = ""] = loss.kept.slice(-1);
  const refused = await answerOf(await resume(loss, cursor));
  const { oldestEventId, headEventId } = refused.error?.data ?? {};
  expect([oldestEventId, headEventId]).not.toContain(cursor);
  await noteMore(loss, 8, 2);
  for (const named of [oldestEventId, headEventId]) {
    const again = await resume(loss, String(named));
    expect(again.status).toBe(200);
    await again.nextMessage(({ params }) => params?.uri === "n://8");
    await again.nextMessage(({ params }) => params?.uri === "n://9");
    again.destroy("rst");
  }
});

test(`${verifies("R-05", "R-08", "E-02")}an older copy put back: a cursor ahead of it is refused, also when the head has passed it`, async () => {
  const loss = await putBack();
  await expectRefused(loss, loss.lost);
  await noteMore(loss, 8, 8);
  await expectRefused(loss, loss.lost);
  await expectRefused(loss, loss.lost);
  // What the copy holds was not lost: its cursors go on.
  for (const cursor of loss.kept) {
    const resumed = await resume(loss, cursor);
    expect([200, 204]).toContain(resumed.status);
    resumed.destroy("rst");
  }
});
