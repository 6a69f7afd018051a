/** What holds with a server, and what does not: told at connect [C K-11]. */
import { verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { rest } from "./virtual-time.ts";
import {
  holdfastCapability,
  initializeParams,
  initializeResult,
  openWorld,
  resultFor,
  withKeys,
} from "./world.ts";

const full = { ...withKeys, heartbeatMs: 15_000 };
const worstCaseMs = 130_000;

async function shortfalls(capability: object | undefined, sessionId: string | null = "S1") {
  const world = await openWorld();
  await world.connect({ sessionId, ...(capability === undefined ? {} : { capability }) });
  expect(world.told.contracts).toHaveLength(1);
  return world.told.contracts[0]?.shortfalls.map(({ type }) => type);
}

describe("the contract with a server", () => {
  test.each([
    ["everything", full, ["memory-state"]],
    ["no keys", { ...full, idempotency: undefined }, ["no-idempotency", "memory-state"]],
    [
      "keys that are kept no longer than the way back takes",
      { ...full, idempotency: { ...full.idempotency, ttlMs: worstCaseMs } },
      ["no-idempotency", "memory-state"],
    ],
    ["no heartbeat", { ...full, heartbeatMs: 0 }, ["no-heartbeat", "memory-state"]],
    ["a log in memory", { ...full, durability: "memory" }, ["memory-log", "memory-state"]],
    [
      "the window as long as the way back",
      { ...full, windowMs: worstCaseMs },
      ["window-within-reconnect", "memory-state"],
    ],
    ["a window just longer", { ...full, windowMs: worstCaseMs + 1 }, ["memory-state"]],
    ["nothing", undefined, ["no-resume-contract", "memory-state"]],
    ["another contract", { ...full, contract: 2 }, ["no-resume-contract", "memory-state"]],
    [
      "numbers that are none",
      { ...full, windowMs: "long" },
      ["no-resume-contract", "memory-state"],
    ],
  ])(`${verifies("K-11")}%s`, async (_name, capability, expected) => {
    expect(await shortfalls(capability)).toEqual(expected);
  });

  test("a server that names no session", async () => {
    expect(await shortfalls(undefined, null)).toEqual([
      ...["no-session", "no-resume-contract", "memory-state"],
    ]);
  });

  test(`${verifies("K-11")}says both numbers where the window is too short`, async () => {
    const world = await openWorld();
    await world.connect({ capability: { ...full, windowMs: 60_000 } });
    const [report] = world.told.contracts;
    expect(report?.worstCaseReconnectMs).toBe(worstCaseMs);
    expect(report?.shortfalls[0]?.message).toMatch(/for 1m, .* up to 130s/);
  });

  test(`${verifies("K-11")}in strict mode connect fails, and the session is ended`, async () => {
    const world = await openWorld({ strict: true });
    const { sent } = world.request(0, "initialize", initializeParams);
    const asked = await world.next();
    const result = initializeResult({ ...full, windowMs: 60_000 });
    asked.respond(200, resultFor(asked, result), { "mcp-session-id": "S1" });
    await expect(sent).rejects.toMatchObject({
      ...{ code: "ERR_RETENTION_WINDOW", seen: 60_000, needed: worstCaseMs },
    });
    const ending = await world.next();
    expect([ending.method, ending.headers["mcp-session-id"]]).toEqual(["DELETE", "S1"]);
    expect(world.transport.sessionId).toBeUndefined();
    expect(world.answersTo(0)).toEqual([]);
  });

  test(`${verifies("K-11")}in strict mode a window that is long enough is no error`, async () => {
    const world = await openWorld({ strict: true });
    await world.connect({ capability: holdfastCapability });
    expect(world.transport.sessionId).toBe("S1");
  });
});

describe("what every request says", () => {
  test(`${verifies("R-09")}the contract, the version and the session`, async () => {
    const world = await openWorld({ headers: async () => ({ "x-mine": "1", accept: "nothing" }) });
    await world.connect({ isListening: true });
    world.call(1);
    await rest();
    const [initialize, ...others] = world.server.requests;
    expect(initialize?.headers).toMatchObject({ "mcp-resume-contract": "1", "x-mine": "1" });
    expect(initialize?.headers).not.toHaveProperty("mcp-protocol-version");
    expect(initialize?.headers).not.toHaveProperty("mcp-session-id");
    expect(others).toHaveLength(3);
    for (const { method, headers } of others) {
      expect(headers).toMatchObject({
        ...{ "mcp-resume-contract": "1", "mcp-protocol-version": "2025-11-25" },
        ...{ "mcp-session-id": "S1", "x-mine": "1" },
        accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
      });
    }
  });

  test(`${verifies("S-08")}terminateSession ends it at the server, and forgets it`, async () => {
    for (const status of [204, 404, 405]) {
      const world = await openWorld();
      await world.connect();
      const ended = world.transport.terminateSession();
      (await world.next()).respond(status);
      await ended;
      expect(world.transport.sessionId).toBeUndefined();
      await world.transport.close();
      expect(world.state.open(0).sessions).toEqual([]);
    }
    const world = await openWorld();
    await world.connect();
    const ended = world.transport.terminateSession();
    (await world.next()).respond(503);
    await expect(ended).rejects.toMatchObject({ status: 503 });
    expect(world.transport.sessionId).toBe("S1");
  });

  test("close lets go of everything, and keeps what it has", async () => {
    const world = await openWorld();
    await world.connect({ isListening: true });
    const standalone = (await world.next()).stream();
    const { sent } = world.call(1);
    const post = await world.next();
    let closed = 0;
    world.transport.onclose = () => {
      closed += 1;
    };
    await world.transport.close();
    await world.transport.close();
    expect([closed, post.isAborted(), standalone.isCancelled()]).toEqual([1, true, true]);
    await expect(sent).rejects.toMatchObject({ code: "ERR_CLIENT_CLOSED" });
    expect(world.server.requests.filter(({ method }) => method === "DELETE")).toEqual([]);
    await world.time.pass(600_000);
    expect(world.server.open()).toEqual([]);
    expect(world.time.nextMs()).toBeUndefined();
    await expect(world.transport.send({ jsonrpc: "2.0", id: 2, method: "ping" })).rejects.toThrow(
      "not open",
    );
    const stored = world.state.open(0);
    expect(stored.sessions).toMatchObject([{ sessionId: "S1", version: "2025-11-25" }]);
    expect(stored.ledger).toMatchObject([{ call: { method: "tools/call", appId: "1" } }]);
  });

  test("an application's own resumption token is refused: sent anew the call would run twice", async () => {
    const world = await openWorld();
    await world.connect();
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "charge" } };
    const sent = world.transport.send(message, { resumptionToken: "e1" });
    await expect(sent).rejects.toMatchObject({ code: "ERR_CLIENT_OPTION" });
    expect(await world.quiet()).toBe(true);
  });
});
