/** Streams that are cut: what is asked for next, with which cursor, and what the caller gets. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { logMessage, openWorld, resultFor } from "./world.ts";

describe("a call that is cut", () => {
  test(`${verifies("K-01", "K-06", "c001", "c004")}goes on from its cursor, and runs once`, async () => {
    const world = await openWorld();
    await world.connect();
    const { sent } = world.call(7);
    const post = await world.next();
    const first = post.stream();
    first.write("id: s7.0\ndata: \n\n");
    await sent;
    first.reset();
    await world.time.pass(1_000);
    const get = await world.next();
    expect([get.method, get.headers["last-event-id"], get.headers["mcp-session-id"]]).toEqual([
      ...["GET", "s7.0", "S1"],
    ]);
    get.stream().event(resultFor(post, { paid: 1 }), "s7.1");
    await world.time.pass(0);
    expect(world.answersTo(7)).toEqual([{ jsonrpc: "2.0", id: 7, result: { paid: 1 } }]);
    const posts = world.server.requests.filter(({ method }) => method === "POST");
    expect(posts.map(({ body }) => body.method)).toEqual([
      ...["initialize", "notifications/initialized", "tools/call"],
    ]);
  });

  test(`${verifies("K-06")}keeps its first cursor over a second cut without an event`, async () => {
    const world = await openWorld();
    await world.connect();
    world.call(1);
    const post = await world.next();
    const first = post.stream();
    first.event(logMessage("x"), "e1");
    await world.time.pass(0);
    first.reset();
    for (let cut = 0; cut < 2; cut += 1) {
      await world.time.pass(5_000);
      const get = await world.next();
      expect(get.headers["last-event-id"]).toBe("e1");
      get.stream().reset();
    }
    await world.time.pass(5_000);
    const last = await world.next();
    expect(last.headers["last-event-id"]).toBe("e1");
    last.stream().event(resultFor(post), "e2");
    await world.time.pass(0);
    expect(world.answersTo(1)).toHaveLength(1);
  });

  test(`${verifies("K-09", "c001")}before any header ends as unknown outcome, at once`, async () => {
    const world = await openWorld();
    await world.connect();
    const { sent } = world.call(3);
    (await world.next()).die();
    await sent;
    const [answer] = world.answersTo(3);
    expect(answer?.error).toMatchObject({
      code: -32011,
      data: { type: "outcome-unknown", requestId: 3, method: "tools/call", name: "charge" },
    });
    expect(world.told.unknown).toMatchObject([{ requestId: 3, reason: "unreachable" }]);
    await world.time.pass(600_000);
    expect(await world.quiet()).toBe(true);
    expect(world.answersTo(3)).toHaveLength(1);
  });
});
