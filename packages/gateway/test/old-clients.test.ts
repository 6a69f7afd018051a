/**
 * Sessions of 2025-06-18 and 2025-03-26: their clients fail on an event with empty data, and those
 * of 2025-03-26 may send arrays. Read as bytes, so that no parser is kind to us.
 */
import {
  disposeAll,
  type EventStream,
  faultProxy,
  openSession,
  type RawSession,
  verifies,
} from "@holdfast/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sdkClients, startWork } from "./sdk-client.ts";
import { serveWorker, stepsOf, ticksOf, type WorkerGateway, workerCall } from "./worker.ts";

let gateway: WorkerGateway;
beforeAll(async () => {
  gateway = await serveWorker(["--log", "memory:", "--heartbeat", "100ms", "--retry", "50ms"]);
});
afterAll(disposeAll);

const oldVersions = ["2025-06-18", "2025-03-26"] as const;

describe.concurrent.each(oldVersions)("a session of %s", (version) => {
  test(`${verifies("E-05", "S-09")}no byte of an event without data, on any stream of it`, async () => {
    const session = await openSession(gateway.url, { version });
    expect(session.version).toBe(version);
    const name = `old ${version}`;
    const listening = await session.get();
    const work = await session.call("work", { name }, { progressToken: 1 });
    await work.nextMessage();
    await work.nextComment((text) => text.startsWith("at "));
    work.destroy("rst");
    await workerCall(session, "tick", { from: 1, count: 1 });
    await listening.nextMessage();
    const listeningAgain = await session.get({ lastEventId: listening.lastEventId ?? "" });
    await listening.ended;
    await workerCall(session, "tick", { from: 2, count: 1 });
    await listeningAgain.nextMessage();
    await workerCall(session, "advance", { name, progress: 1, done: true });
    const resumed = await session.get({ lastEventId: work.lastEventId ?? "" });
    await resumed.response();
    await resumed.ended;

    const calls = [work, resumed];
    expect(calls.flatMap(({ messages }) => stepsOf(messages))).toEqual([1, 2]);
    const lanes = [listening, listeningAgain];
    expect(lanes.flatMap(({ messages }) => ticksOf(messages))).toEqual([1, 2]);
    for (const stream of [session.initializeStream, ...calls, ...lanes]) {
      expect(blocksOf(stream).length).toBeGreaterThan(0);
      expect(blocksOf(stream).filter(isEventWithoutData)).toEqual([]);
    }
  });

  test(`${verifies("S-08", "D-01")}its end is told by an event that has data`, async () => {
    const session = await openSession(gateway.url, { version });
    const listening = await session.get();
    await session.delete();
    await listening.nextEvent(({ event }) => event === "close");
    expect(blocksOf(listening).filter(isEventWithoutData)).toEqual([]);
  });
});

test(`${verifies("E-05")}a session of 2025-11-25 begins with just such an event`, async () => {
  const session = await openSession(gateway.url);
  const listening = await session.get();
  await listening.next();
  expect(blocksOf(listening).filter(isEventWithoutData)).toHaveLength(1);
});

test(`${verifies("E-01", "c066")}an array of 2025-03-26: one stream, cut and resumed, to its last response`, async () => {
  const session = await openSession(gateway.url, { version: "2025-03-26" });
  const array = [
    toolCall(1, "work", { name: "one of three" }),
    { jsonrpc: "2.0", id: 2, method: "ping" },
    { jsonrpc: "2.0", method: "notifications/roots/list_changed" },
    toolCall(3, "work", { name: "three of three" }),
  ];
  const stream = await session.post(array);
  await stream.response(2);
  stream.destroy("rst");
  await workerCall(session, "advance", { name: "three of three", done: true });
  const resumed = await session.get({ lastEventId: stream.lastEventId ?? "" });
  expect((await resumed.response(3)).result).toMatchObject(text("three of three done"));
  await workerCall(session, "advance", { name: "one of three", done: true });
  expect((await resumed.response(1)).result).toMatchObject(text("one of three done"));
  expect((await resumed.ended).how).toBe("end");
  for (const name of ["one of three", "three of three"]) expect(gateway.effects(name)).toBe(1);
});

test.each(["2025-06-18", "2025-11-25"])(
  `${verifies("E-01", "D-03", "c066")}an array of %s is refused, and nothing of it runs`,
  async (version) => {
    const session = await openSession(gateway.url, { version });
    const name = `array ${version}`;
    const refused = await session.post([toolCall(1, "work", { name }), toolCall(2, "echo", {})]);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: -32600 } });
    await echoes(session);
    expect(gateway.effects(name)).toBe(0);
  },
);

describe.concurrent.each(["2025-06-18", "2025-03-26", "2024-11-05"])(
  "an upstream of %s",
  (version) => {
    test.each(sdkClients)(
      `${verifies("S-09", "R-01")}SDK %s gets its result across a cut`,
      async (_sdk, connect) => {
        const old = await serveWorker(["--retry", "50ms"], { upstreamVersion: version });
        const proxy = await faultProxy({ target: old.target });
        const client = await connect(proxy.url("/mcp"));
        const work = await startWork(client, "call");
        const resumed = client.onRequest.next(({ lastEventId }) => lastEventId !== undefined);
        proxy.cutAll("rst");
        await resumed;
        await client.call("advance", { name: "call", progress: 2, done: true });
        expect(await work.result).toBe("call done");
        expect(work.steps).toEqual([1, 2, 3]);
        expect(old.effects("call")).toBe(1);
      },
    );
  },
);

const text = (line: string) => ({ content: [{ type: "text", text: line }] });

function toolCall(id: number, name: string, args: object): object {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}

async function echoes(session: RawSession): Promise<void> {
  expect(await workerCall(session, "echo", { text: "alive" })).toBe("alive");
}

/** What stands between blank lines in the bytes so far. */
function blocksOf({ chunks }: EventStream): string[] {
  const text = Buffer.concat([...chunks]).toString("utf8");
  return text.split(/(?:\r\n|\n|\r){2}/).filter((block) => block !== "");
}

/** A block that some field makes an event, or would move a cursor, and that carries nothing. */
function isEventWithoutData(block: string): boolean {
  const lines = block.split(/\r\n|\n|\r/);
  const isEvent = lines.some((line) => /^(?:id|event|data)(?::|$)/.test(line));
  return isEvent && !lines.some((line) => /^data: ?[^ ]/.test(line));
}
