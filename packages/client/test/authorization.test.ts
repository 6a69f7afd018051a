/** Credentials that are refused: the session is kept, and nothing runs twice [C K-01]. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { type ScriptedFetch, scriptedFetch } from "./scripted-fetch.ts";
import { rest } from "./virtual-time.ts";
import { logMessage, openWorld, resultFor, type World, withKeys } from "./world.ts";

/** As the SDKs name it. */
class UnauthorizedError extends Error {}

async function cutCall(world: World) {
  world.call(1);
  const post = await world.next();
  const stream = post.stream();
  stream.event(logMessage(1), "e1");
  await rest();
  stream.reset();
  await world.time.toNext();
  return post;
}

describe("a resume that is refused for its credentials", () => {
  test(`${verifies("K-01", "c048")}asks for them before each attempt, and goes on with the new ones`, async () => {
    let token = "t1";
    const world = await openWorld({
      headers: () => ({ authorization: `Bearer ${token}` }),
      reconnect: { maxAttempts: 1 },
    });
    await world.connect();
    const post = await cutCall(world);
    for (let failed = 0; failed < 2; failed += 1) {
      const get = await world.next();
      expect(get.headers.authorization).toBe("Bearer t1");
      get.respond(401, undefined, { "www-authenticate": "Bearer" });
      await rest();
      token = failed === 1 ? "t2" : token;
      await world.time.toNext();
    }
    const get = await world.next();
    expect([get.headers.authorization, get.headers["last-event-id"]]).toEqual(["Bearer t2", "e1"]);
    expect(get.headers["mcp-session-id"]).toBe("S1");
    get.stream().event(resultFor(post), "e2");
    await rest();
    expect(world.answersTo(1)).toMatchObject([{ result: {} }]);
    const initializes = world.server.requests.filter(({ body }) => body.method === "initialize");
    expect(initializes).toHaveLength(1);
  });

  test(`${verifies("K-01", "c048")}is refreshed in the middle by a layer around fetch`, async () => {
    let token = "t1";
    const inner: ScriptedFetch = scriptedFetch();
    // What the SDKs' OAuth middleware does: one refresh, then the same request again.
    const world = await openWorld({
      fetch: async (url, init = {}) => {
        const send = () => {
          const headers = new Headers(init.headers);
          headers.set("authorization", `Bearer ${token}`);
          return inner.fetch(url, { ...init, headers });
        };
        const response = await send();
        if (response.status !== 401) return response;
        token = "t2";
        return send();
      },
    });
    const played = { ...world, server: inner };
    const next = async () => {
      await rest();
      const [first] = inner.open();
      if (first === undefined) throw new Error("nothing is asked of the server");
      return first;
    };
    const served: World = { ...played, next };
    served.request(0, "initialize", {});
    const asked = await next();
    asked.respond(200, resultFor(asked, { protocolVersion: "2025-11-25" }), {
      "mcp-session-id": "S1",
    });
    const post = await cutCall(served);
    (await next()).respond(401);
    const again = await next();
    expect([again.headers.authorization, again.headers["last-event-id"]]).toEqual([
      ...["Bearer t2", "e1"],
    ]);
    again.stream().event(resultFor(post), "e2");
    await rest();
    expect(world.answersTo(1)).toMatchObject([{ result: {} }]);
  });

  test.each([
    ["401, and stays so", 401, 4],
    ["403", 403, 1],
  ])(
    `${verifies("K-01", "c048")}%s: unknown outcome and parked; session and cursor are kept`,
    async (_name, status, asked) => {
      const world = await openWorld({ internals: { probeMs: 60_000 } });
      await world.connect();
      const post = await cutCall(world);
      for (let i = 1; i <= asked; i += 1) {
        (await world.next()).respond(status);
        if (i < asked) await world.time.toNext();
      }
      await rest();
      expect(world.told.unknown).toMatchObject([{ requestId: 1, reason: "authorization" }]);
      expect(world.told.parked).toMatchObject([{ why: "authorization", sessionId: "S1" }]);
      expect(await world.quiet()).toBe(true);
      world.request(2, "tools/list");
      const list = await world.next();
      list.respond(200, resultFor(list, { tools: [] }));
      await rest();
      expect(world.told.resumed).toBe(1);
      const late = await world.next();
      expect([late.headers["mcp-session-id"], late.headers["last-event-id"]]).toEqual(["S1", "e1"]);
      late.stream().event(resultFor(post, { paid: 1 }), "e2");
      await rest();
      const [call] = await world.transport.recovered();
      expect(await call?.outcome()).toMatchObject({ kind: "result" });
    },
  );
});

describe("a POST that is refused for its credentials", () => {
  test.each([401, 403])(
    `${verifies("K-01", "K-09")}%i: an error with its status; it did not run`,
    async (status) => {
      const world = await openWorld();
      await world.connect();
      const { sent } = world.call(1);
      (await world.next()).respond(status);
      await expect(sent).rejects.toMatchObject({ code: "ERR_HTTP_STATUS", status });
      expect(world.told.unknown).toEqual([]);
      expect(world.transport.sessionId).toBe("S1");
    },
  );

  test(`${verifies("K-01")}the layer's own error passes, where it is certain that nothing was done twice`, async () => {
    const world = await openWorld();
    const { sent } = world.request(0, "initialize", {});
    const needsLogin = new UnauthorizedError("login needed");
    (await world.next()).fail(needsLogin);
    await expect(sent).rejects.toBe(needsLogin);
  });

  test(`${verifies("K-09")}the layer's own error for a charge: it may have been sent before`, async () => {
    for (const capability of [undefined, withKeys]) {
      const world = await openWorld();
      await world.connect(capability === undefined ? {} : { capability });
      world.call(1);
      (await world.next()).fail(new UnauthorizedError("refresh failed"));
      await rest();
      expect(world.told.unknown).toMatchObject([{ reason: "authorization" }]);
      expect(world.told.errors.map(({ message }) => message)).toContain("refresh failed");
    }
  });

  test(`${verifies("c048")}credentials that cannot be had: nothing is sent`, async () => {
    let isBroken = false;
    const world = await openWorld({
      headers: () => {
        if (isBroken) throw new Error("no token");
        return {};
      },
    });
    await world.connect();
    isBroken = true;
    await expect(world.call(1).sent).rejects.toThrow("no token");
    expect(await world.quiet()).toBe(true);
    expect(world.told.unknown).toEqual([]);
  });
});
