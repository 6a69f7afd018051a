/** The same play for two gateways on every shared log: either serves any request of any session. */
import { openEventStream, openSession } from "@holdfast/testkit";
import { expect } from "vitest";
import { scratchDirectory, startGateway } from "./gateway-process.ts";

/** A call on one node arrives on the other, which goes on when the first is stopped. */
export async function playTwoGateways(log: string): Promise<void> {
  const start = () => startGateway(["demo", "serve", "--log", log], scratchDirectory());
  const [one, two] = [await start(), await start()];
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
  expect(await two.kill("SIGTERM")).toEqual({ code: 0, signal: null });
}
