/** Connections that are dead and do not say so, and events that are swallowed on the way. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { rest } from "./virtual-time.ts";
import { holdfastCapability, logMessage, openWorld, resultFor, withKeys } from "./world.ts";

const heartbeatMs = 10_000;
const beating = { ...holdfastCapability, heartbeatMs };
const id = (position: number, stream = 3) => `0123456789abcdef.${stream}.${position}.aaaabbbb`;

describe("a silent connection", () => {
  test(`${verifies("K-12")}is given up after three heartbeats without a byte, and resumed`, async () => {
    const world = await openWorld();
    await world.connect({ capability: beating });
    world.call(1);
    const post = await world.next();
    const stream = post.stream();
    stream.write(`id: ${id(0)}\ndata:\n\n`);
    await rest();
    for (let beat = 0; beat < 5; beat += 1) {
      await world.time.pass(29_999);
      expect(stream.isCancelled()).toBe(false);
      stream.write(`: at ${id(0)}\n\n`);
      await rest();
    }
    await world.time.pass(29_999);
    expect(stream.isCancelled()).toBe(false);
    await world.time.pass(1);
    expect(stream.isCancelled()).toBe(true);
    await world.time.toNext();
    const get = await world.next();
    expect(get.headers["last-event-id"]).toBe(id(0));
    get.stream().event(resultFor(post), id(1));
    await rest();
    expect(world.answersTo(1)).toHaveLength(1);
  });

  test(`${verifies("K-12")}is left alone where no heartbeat is advertised`, async () => {
    const world = await openWorld();
    await world.connect({ capability: holdfastCapability });
    world.call(1);
    const stream = (await world.next()).stream();
    await world.time.pass(3_600_000);
    expect(stream.isCancelled()).toBe(false);
  });

  test(`${verifies("K-12", "K-09")}a POST that is not answered at all: under its key it goes out again`, async () => {
    const world = await openWorld();
    await world.connect({ capability: { ...withKeys, heartbeatMs } });
    world.call(1);
    const first = await world.next();
    await world.time.pass(29_999);
    expect(first.isAborted()).toBe(false);
    await world.time.pass(1);
    expect(first.isAborted()).toBe(true);
    await world.time.toNext();
    const again = await world.next();
    expect(again.headers["idempotency-key"]).toBe(first.headers["idempotency-key"]);
  });

  test(`${verifies("K-04")}an attempt to resume waits ten seconds for its answer`, async () => {
    const world = await openWorld();
    await world.connect();
    world.call(1);
    const stream = (await world.next()).stream();
    stream.event(logMessage(1), "e1");
    await rest();
    stream.reset();
    await world.time.toNext();
    const get = await world.next();
    await world.time.pass(9_999);
    expect(get.isAborted()).toBe(false);
    await world.time.pass(1);
    expect(get.isAborted()).toBe(true);
    await world.time.toNext();
    expect((await world.next()).headers["last-event-id"]).toBe("e1");
  });
});

describe("a heartbeat that names an event", () => {
  async function reading(capability: object = beating) {
    const world = await openWorld();
    await world.connect({ capability });
    world.call(1);
    const post = await world.next();
    const stream = post.stream();
    stream.event(logMessage(1), id(1));
    await rest();
    return { world, post, stream };
  }

  test(`${verifies("K-13")}which was not seen: the viewport is dropped, the cursor resumed`, async () => {
    const { world, stream } = await reading();
    stream.write(`: at ${id(3)}\n\n`);
    await rest();
    expect(stream.isCancelled()).toBe(true);
    await world.time.toNext();
    expect((await world.next()).headers["last-event-id"]).toBe(id(1));
  });

  test.each([
    ["that was seen", id(1)],
    ["from before", id(0)],
    ["of another stream", id(9, 4)],
    ["of no form that is known", "whatever"],
  ])(`${verifies("K-13")}%s: nothing is wrong`, async (_name, named) => {
    const { stream } = await reading();
    stream.write(`: at ${named}\n\n: alive\n\n:\n\n`);
    await rest();
    expect(stream.isCancelled()).toBe(false);
  });

  test(`${verifies("K-13")}counts over a change of hands: positions go on`, async () => {
    const { stream } = await reading();
    stream.write(": at 0123456789abcdef.3.2.zzzzzzzz\n\n");
    await rest();
    expect(stream.isCancelled()).toBe(true);
  });

  test(`${verifies("K-13")}means nothing from a server that advertises no heartbeat`, async () => {
    const { stream } = await reading(holdfastCapability);
    stream.write(`: at ${id(3)}\n\n`);
    await rest();
    expect(stream.isCancelled()).toBe(false);
  });

  test(`${verifies("K-13", "K-05")}that never comes: the call ends, in bounded time`, async () => {
    const { world, stream } = await reading();
    stream.write(`: at ${id(2)}\n\n`);
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await world.time.toNext();
      (await world.next()).stream().write(`: at ${id(2)}\n\n`);
    }
    await rest();
    expect(world.told.unknown).toMatchObject([{ requestId: 1, reason: "unreachable" }]);
  });
});
