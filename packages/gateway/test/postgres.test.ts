/** Two gateways on one PostgreSQL: either serves any request of any session. */
import { randomBytes } from "node:crypto";
import {
  disposeAll,
  onDispose,
  openEventStream,
  openSession,
  postgresUrl,
  verifies,
  within,
} from "@holdfast/testkit";
import { Client } from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { holdfast, scratchDirectory, startGateway } from "./gateway-process.ts";

afterEach(disposeAll);

const database = await postgresUrl();

/** A log in a schema of its own; it goes with the test. */
function freshLog(url: string): string {
  const schema = `holdfast_test_${randomBytes(6).toString("hex")}`;
  onDispose(async () => {
    const client = new Client(url);
    await client.connect();
    await client.query(`set client_min_messages = warning; drop schema ${schema} cascade`);
    await client.end();
  });
  const log = new URL(url);
  log.searchParams.set("schema", schema);
  return log.href;
}

describe.skipIf(database === undefined)("--log postgres://", () => {
  test(`${verifies("N-01", "D-02", "S-07", "R-01")}a call on one node arrives on the other, which goes on when the first is stopped`, async () => {
    const log = freshLog(database ?? "");
    const nodes = [];
    for (let n = 0; n < 2; n += 1) {
      nodes.push(await startGateway(["demo", "serve", "--log", log], scratchDirectory()));
    }
    const [one, two] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
    expect(one.stdout).toContain("shared by any number of nodes");
    const session = await openSession(one.url);
    const args = { amount: 42, seconds: 2 };
    const cut = await session.call("charge", args, { progressToken: "p" });
    await cut.nextMessage((message) => message.method === "notifications/progress");
    cut.destroy("rst");
    const headers = {
      "mcp-session-id": session.sessionId,
      "mcp-protocol-version": session.version,
      accept: "application/json, text/event-stream",
    };
    const resumed = await openEventStream({
      ...{ url: two.url, method: "GET" },
      headers: { ...headers, "last-event-id": cut.lastEventId ?? "" },
    });
    const answer = await resumed.response();
    expect(answer.result).toMatchObject({ content: [{ text: "charge #1: 42 was charged" }] });

    expect(await one.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    const params = { name: "charge", arguments: { amount: 7, seconds: 0 } };
    const later = await openEventStream({
      ...{ url: two.url, method: "POST" },
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 9, method: "tools/call", params }),
    });
    expect(await later.response()).toMatchObject({ result: { content: [{ type: "text" }] } });
  });

  test("a database that is not there is told in a line or two, without a password", async () => {
    const log = new URL(database ?? "");
    log.username = "me";
    log.password = "secret";
    log.port = "1";
    const process = await holdfast(["serve", "--port", "0", "--log", log.href, "--", "true"]);
    expect(await within(process.exited, "the exit")).toEqual({ code: 1, signal: null });
    expect(process.stderr).toMatch(/event log postgres:\/\/\S+ cannot be used now: .*\n.+\n$/);
    expect(process.stderr + process.stdout).not.toContain("secret");
  });
});
