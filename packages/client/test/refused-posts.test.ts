/** POSTs that are refused, or die: what runs again, what ends, and as what [C K-09]. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { rest } from "./virtual-time.ts";
import { openWorld, resultFor, withKeys } from "./world.ts";

const notRun = (type: string) => ({
  jsonrpc: "2.0",
  id: null,
  error: { code: -32000, message: "later", data: { type, notRun: true } },
});

describe("a POST that did not run", () => {
  test.each([
    ["429", 429, "<html>", {}],
    ["429 with a time", 429, notRun("rate-limited"), { "retry-after": "7" }],
    ["503 draining", 503, notRun("draining"), { "retry-after": "7" }],
    ["503 overloaded", 503, notRun("overloaded"), {}],
  ] as const)(
    `${verifies("K-09")}%s goes out again, the same`,
    async (_name, status, body, headers) => {
      const world = await openWorld();
      await world.connect();
      world.call(1);
      const first = await world.next();
      first.respond(status, body, headers);
      const waitedMs = await world.time.toNext();
      expect(waitedMs).toBe("retry-after" in headers ? 7_000 : 250);
      const again = await world.next();
      expect(again.body).toEqual(first.body);
      again.respond(200, resultFor(again, { ran: true }));
      await rest();
      expect(world.answersTo(1)).toMatchObject([{ result: { ran: true } }]);
      expect(world.told.unknown).toEqual([]);
    },
  );

  test(`${verifies("K-09")}since no connection came about, goes out again`, async () => {
    const world = await openWorld();
    await world.connect();
    for (const cause of [
      { code: "ECONNREFUSED", syscall: "connect" },
      { code: "ENOTFOUND", syscall: "getaddrinfo" },
      { code: "UND_ERR_CONNECT_TIMEOUT" },
    ]) {
      world.call(1);
      (await world.next()).die(cause);
      await world.time.toNext();
      const again = await world.next();
      again.respond(200, resultFor(again));
      await rest();
    }
    expect(world.answersTo(1)).toHaveLength(3);
    expect(world.told.unknown).toEqual([]);
  });

  test(`${verifies("K-05", "K-09")}and cannot be brought over in time ends as an error`, async () => {
    const world = await openWorld({ reconnect: { maxAttempts: 2 } });
    await world.connect();
    const { sent } = world.call(1);
    for (let i = 0; i < 3; i += 1) {
      (await world.next()).die({ code: "ECONNREFUSED", syscall: "connect" });
      if (i < 2) await world.time.toNext();
    }
    await expect(sent).rejects.toMatchObject({ code: "ERR_NOT_RUN" });
    expect(world.told.unknown).toEqual([]);
    expect(world.told.parked).toHaveLength(1);
  });
});

describe("a POST that may have run", () => {
  test.each([
    ["reset", undefined],
    ["500", 500],
    ["502", 502],
    ["503 that says nothing", 503],
  ] as const)(`${verifies("K-09")}%s: unknown outcome, never again`, async (_name, status) => {
    const world = await openWorld();
    await world.connect();
    world.call(1);
    const post = await world.next();
    if (status === undefined) post.die();
    else post.respond(status, "<html>bad gateway</html>");
    await world.time.pass(600_000);
    expect(await world.quiet()).toBe(true);
    expect(world.told.unknown).toMatchObject([{ requestId: 1, reason: "unreachable" }]);
    expect(world.answersTo(1)).toMatchObject([{ error: { code: -32011 } }]);
  });

  test(`${verifies("K-09", "X-03")}goes out again under its key, where keys are kept`, async () => {
    const world = await openWorld();
    await world.connect({ capability: withKeys });
    world.call(1);
    const first = await world.next();
    expect(first.headers["idempotency-key"]).toMatch(/^[0-9a-f]{32}$/);
    first.die();
    await world.time.toNext();
    const second = await world.next();
    expect(second.headers["idempotency-key"]).toBe(first.headers["idempotency-key"]);
    expect(second.body).toEqual(first.body);
    second.respond(200, resultFor(second, { once: true }));
    await rest();
    world.call(2);
    const other = await world.next();
    expect(other.headers["idempotency-key"]).not.toBe(first.headers["idempotency-key"]);
    expect(world.answersTo(1)).toMatchObject([{ result: { once: true } }]);
  });

  test(`${verifies("K-09")}a refusal of the repetition says nothing of the first attempt`, async () => {
    for (const [status, reason] of [
      [401, "authorization"],
      [422, "stream-refused"],
    ] as const) {
      const world = await openWorld();
      await world.connect({ capability: withKeys });
      world.call(1);
      (await world.next()).die();
      await world.time.toNext();
      (await world.next()).respond(status, "<html>");
      await rest();
      expect(world.told.unknown).toMatchObject([{ reason }]);
    }
  });

  test(`${verifies("K-09")}goes out again when it only reads`, async () => {
    const world = await openWorld();
    await world.connect();
    world.request(1, "prompts/list");
    (await world.next()).die();
    await world.time.toNext();
    const again = await world.next();
    again.respond(200, resultFor(again, { prompts: [] }));
    await rest();
    expect(world.answersTo(1)).toMatchObject([{ result: { prompts: [] } }]);
  });

  test(`${verifies("K-02", "c004")}a stream that ends before any id: unknown outcome, at once`, async () => {
    const world = await openWorld();
    await world.connect();
    world.call(1);
    (await world.next()).stream().end();
    await rest();
    expect(world.told.unknown).toMatchObject([{ reason: "unreachable" }]);
    expect(world.transport.pending()).toEqual([]);
  });

  test.each([
    ["a page in place of a stream", 200, "<html>welcome</html>"],
    ["no content", 204, undefined],
    ["accepted, and nothing more", 202, undefined],
  ] as const)(`${verifies("K-01")}%s: unknown outcome`, async (_name, status, body) => {
    const world = await openWorld();
    await world.connect();
    world.call(1);
    (await world.next()).respond(status, body);
    await rest();
    expect(world.told.unknown).toMatchObject([{ reason: "stream-refused" }]);
  });

  test.each([
    ["405", 405],
    ["a page", 200],
    ["204", 204],
    ["418", 418],
  ])(
    `${verifies("K-01")}its resume is answered by %s: unknown outcome, the session is kept`,
    async (_name, status) => {
      const world = await openWorld();
      await world.connect();
      world.call(1);
      const stream = (await world.next()).stream();
      stream.write("id: e1\ndata:\n\n");
      await rest();
      stream.reset();
      await world.time.toNext();
      (await world.next()).respond(status, status === 200 ? "<html>" : undefined);
      await rest();
      expect(world.told.unknown).toMatchObject([{ reason: "stream-refused" }]);
      expect(world.transport.sessionId).toBe("S1");
      expect(world.told.parked).toEqual([]);
    },
  );
});

describe("what a server says is handed on as it is", () => {
  const errors = [
    { code: -32602, message: "bad arguments" },
    { code: -32603, message: "broken" },
    { code: -32000, message: "no" },
    { code: -32001, message: "timeout" },
    { code: -32001, message: "Session not found" },
  ];

  test.each(errors)(
    `${verifies("c068", "K-01")}$code $message: once, and nothing else happens`,
    async (error) => {
      const world = await openWorld();
      await world.connect();
      world.call(1);
      const post = await world.next();
      post.stream().event({ jsonrpc: "2.0", id: post.body.id, error }, "e1");
      await world.time.pass(600_000);
      expect(world.answersTo(1)).toEqual([{ jsonrpc: "2.0", id: 1, error }]);
      expect(world.server.requests).toHaveLength(4);
    },
  );

  test(`${verifies("c068")}isError: a result like any other`, async () => {
    const world = await openWorld();
    await world.connect();
    world.call(1);
    const post = await world.next();
    post.respond(200, resultFor(post, { isError: true, content: [] }));
    await rest();
    expect(world.answersTo(1)).toMatchObject([{ result: { isError: true } }]);
  });

  test(`${verifies("c068", "K-09")}400 with an error for this request: its answer`, async () => {
    const world = await openWorld();
    await world.connect();
    world.call(1);
    const post = await world.next();
    const error = { code: -32602, message: "Session not found" };
    post.respond(400, { jsonrpc: "2.0", id: post.body.id, error });
    await rest();
    expect(world.answersTo(1)).toEqual([{ jsonrpc: "2.0", id: 1, error }]);
    expect(world.server.requests).toHaveLength(4);
  });

  test.each([400, 406, 413, 415, 422])(
    `${verifies("K-09")}%i: an error of that call alone`,
    async (status) => {
      const world = await openWorld();
      await world.connect();
      const { sent } = world.call(1);
      (await world.next()).respond(status, notRun("whatever"));
      await expect(sent).rejects.toMatchObject({ code: "ERR_HTTP_STATUS", status });
      world.call(2);
      const next = await world.next();
      next.respond(200, resultFor(next));
      await rest();
      expect(world.answersTo(2)).toHaveLength(1);
    },
  );

  test(`${verifies("X-05")}an outcome that the server itself does not know`, async () => {
    const world = await openWorld();
    await world.connect();
    world.call(1);
    const post = await world.next();
    const data = { type: "outcome-unknown", requestId: post.body.id, reason: "upstream-exited" };
    const error = { code: -32011, message: "Nobody knows.", data };
    post.respond(200, { jsonrpc: "2.0", id: post.body.id, error });
    await rest();
    const known = { requestId: 1, reason: "upstream-exited", message: "Nobody knows." };
    expect(world.told.unknown).toMatchObject([known]);
    expect(world.answersTo(1)).toMatchObject([{ error: { data: { requestId: 1 } } }]);
  });
});
