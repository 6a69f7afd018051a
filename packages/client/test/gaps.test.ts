/** Events that are lost: told before anything else, and no more of them than needed [C K-08]. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { rest } from "./virtual-time.ts";
import { logMessage, openWorld, resultFor, type World } from "./world.ts";

const tag = "0123456789abcdef";
const id = (stream: number, position: number) => `${tag}.${stream}.${position}.aaaabbbb`;

function exceeded(stream: number, from: number, oldest: number, head: number, lost: number | null) {
  const data = {
    type: "resume-window-exceeded",
    ...{ stream, requested: id(stream, from), lostEvents: lost },
    ...{ oldestEventId: id(stream, oldest), headEventId: id(stream, head) },
    retention: { windowMs: 1, maxEvents: 5, maxBytes: 1 },
  };
  return { jsonrpc: "2.0", id: null, error: { code: -32010, message: "gone", data } };
}

/** A call that was cut after its third event. */
async function cutCall(world: World, stream = 4) {
  world.call(1);
  const post = await world.next();
  const first = post.stream();
  for (const position of [1, 2, 3]) first.event(logMessage(position), id(stream, position));
  await rest();
  first.reset();
  await world.time.toNext();
  return post;
}

describe("events that are lost", () => {
  test.each([
    ["oldest", 7, 4],
    ["head", 10, 7],
  ] as const)(
    `${verifies("K-08", "c053")}going on at the %s`,
    async (gapRecovery, at, lostEvents) => {
      const world = await openWorld({ gapRecovery });
      await world.connect();
      const post = await cutCall(world);
      (await world.next()).respond(410, exceeded(4, 3, 7, 10, 4));
      await rest();
      expect(world.told.gaps).toEqual([
        {
          ...{ type: "resume-window-exceeded", lane: "call", stream: 4, lostEvents },
          ...{ from: id(4, 3), to: id(4, at), requestIds: [1] },
        },
      ]);
      await world.time.toNext();
      const get = await world.next();
      expect(get.headers["last-event-id"]).toBe(id(4, at));
      get.stream().event(resultFor(post), id(4, 11));
      await rest();
      expect(world.answersTo(1)).toMatchObject([{ result: {} }]);
    },
  );

  test(`${verifies("K-08", "c053")}a response that is among them ends its call at once`, async () => {
    const world = await openWorld();
    await world.connect();
    await cutCall(world);
    (await world.next()).respond(410, exceeded(4, 3, 9, 9, 6));
    await world.time.toNext();
    // Evicted whole: only the head is left, and nothing comes after it.
    (await world.next()).respond(204);
    await rest();
    expect(world.told.gaps).toHaveLength(1);
    expect(world.answersTo(1)).toMatchObject([{ error: { data: { reason: "window-expired" } } }]);
  });

  test(`${verifies("K-08")}a 410 that names no id ends its call, reopens the standalone stream`, async () => {
    const world = await openWorld();
    await world.connect({ isListening: true });
    const standalone = (await world.next()).stream();
    standalone.event(logMessage(0), id(0, 5));
    await cutCall(world);
    (await world.next()).respond(410);
    await rest();
    expect(world.answersTo(1)).toMatchObject([{ error: { data: { reason: "window-expired" } } }]);
    standalone.reset();
    await world.time.toNext();
    (await world.next()).respond(410, "<html>");
    await world.time.toNext();
    const get = await world.next();
    expect([get.method, get.headers["last-event-id"]]).toEqual(["GET", undefined]);
    expect(world.told.gaps).toMatchObject([
      { lane: "call", from: id(4, 3), to: null, lostEvents: null, requestIds: [1] },
      { lane: "standalone", from: id(0, 5), to: null, lostEvents: null, requestIds: [] },
    ]);
  });

  test(`${verifies("K-08")}the gap comes before any later event of that stream`, async () => {
    const order: string[] = [];
    const world = await openWorld({ internals: { random: () => 0 } });
    await world.connect({ isListening: true });
    world.transport.onmessage = () => void order.push("event");
    const push = world.told.gaps.push.bind(world.told.gaps);
    world.told.gaps.push = (...gaps) => {
      order.push("gap");
      return push(...gaps);
    };
    const standalone = (await world.next()).stream();
    standalone.event(logMessage(0), id(0, 1));
    await rest();
    standalone.reset();
    await world.time.toNext();
    (await world.next()).respond(410, exceeded(0, 1, 5, 9, 4));
    await world.time.toNext();
    (await world.next()).stream().event(logMessage(1), id(0, 6));
    await rest();
    expect(order).toEqual(["event", "gap", "event"]);
  });

  test(`${verifies("K-01", "c008")}a bare 409 is busy: the cursor is kept, and nothing is lost`, async () => {
    const world = await openWorld();
    await world.connect();
    const post = await cutCall(world);
    const conflict = { jsonrpc: "2.0", id: null, error: { code: -32000, message: "Conflict" } };
    for (let i = 0; i < 2; i += 1) {
      const get = await world.next();
      expect(get.headers["last-event-id"]).toBe(id(4, 3));
      get.respond(409, conflict);
      await world.time.toNext();
    }
    const stream = (await world.next()).stream();
    stream.event(logMessage("e6"), id(4, 4));
    stream.event(resultFor(post), id(4, 5));
    await rest();
    expect(world.told.gaps).toEqual([]);
    expect(world.answersTo(1)).toHaveLength(1);
    expect(world.told.messages.filter(({ method }) => method !== undefined)).toHaveLength(4);
  });

  test(`${verifies("K-01", "c008")}a 409 with the marker of lost events is a gap`, async () => {
    const world = await openWorld();
    await world.connect();
    await cutCall(world);
    (await world.next()).respond(409, exceeded(4, 3, 7, 10, 4));
    await world.time.toNext();
    expect(world.told.gaps).toMatchObject([{ lostEvents: 4 }]);
    expect((await world.next()).headers["last-event-id"]).toBe(id(4, 7));
  });

  test(`${verifies("K-01")}still 409 when the budget is spent: events are lost`, async () => {
    const world = await openWorld({ reconnect: { maxAttempts: 3 } });
    await world.connect();
    await cutCall(world);
    (await world.next()).respond(409);
    for (let i = 0; i < 2; i += 1) {
      await world.time.toNext();
      (await world.next()).respond(409);
    }
    await rest();
    expect(world.told.gaps).toHaveLength(1);
    expect(world.answersTo(1)).toMatchObject([{ error: { data: { reason: "window-expired" } } }]);
  });

  test(`${verifies("K-02")}a standalone stream that never had ids is reopened, and a gap told`, async () => {
    const world = await openWorld();
    await world.connect({ isListening: true });
    const standalone = (await world.next()).stream();
    standalone.event(logMessage(0));
    await rest();
    standalone.end();
    await world.time.toNext();
    expect((await world.next()).headers["last-event-id"]).toBeUndefined();
    expect(world.told.gaps).toMatchObject([{ lane: "standalone", from: null, to: null }]);
  });

  test(`${verifies("K-02")}a standalone stream that never opened is asked for again, without a gap`, async () => {
    const world = await openWorld();
    await world.connect({ isListening: true });
    (await world.next()).respond(503);
    await world.time.toNext();
    await world.next();
    expect(world.told.gaps).toEqual([]);
  });

  test(`${verifies("R-09", "K-08")}a gap that is told in-band is told to the application, too`, async () => {
    const world = await openWorld();
    await world.connect({ isListening: true });
    const { error } = exceeded(0, 3, 7, 10, 4);
    const params = { level: "warning", logger: "holdfast", data: error.data };
    const notice = { jsonrpc: "2.0", method: "notifications/message", params };
    (await world.next()).stream().event(notice);
    await rest();
    expect(world.told.gaps).toMatchObject([{ from: id(0, 3), to: id(0, 7), lostEvents: 4 }]);
    expect(world.told.messages.at(-1)).toEqual(notice);
  });

  test("what a replay shows again is handed on once", async () => {
    const world = await openWorld();
    await world.connect({ isListening: true });
    const first = (await world.next()).stream();
    for (const at of [1, 2, 3]) first.event(logMessage(at), `e${at}`);
    await rest();
    first.reset();
    await world.time.toNext();
    const again = (await world.next()).stream();
    // A server that begins too early, and then goes on.
    for (const at of [2, 3, 4, 5]) again.event(logMessage(at), `e${at}`);
    await rest();
    const seen = world.told.messages.map(({ params }) => params?.data).filter(Number.isInteger);
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });
});
