/** What befalls nodes: one is cut off from the store, one drains while a call runs on it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryLog, memoryStore } from "@holdfast/log";
import { cuttable } from "@holdfast/log/acceptance";
import { createSessionRuntime } from "@holdfast/server";
import { disposeAll, onDispose, openEventStream, openSession, verifies } from "@holdfast/testkit";
import { scriptedUpstreams } from "@holdfast/testkit/face-acceptance";
import { afterEach, expect, test } from "vitest";

afterEach(disposeAll);

const leaseMs = 1_000;

/** Runtimes on one store, each at an address of its own. */
async function startNodes(count: number) {
  const store = memoryStore();
  const nodes = [];
  for (let n = 0; n < count; n += 1) {
    const upstreams = scriptedUpstreams();
    const { log, cut } = cuttable(memoryLog(store));
    const options = { leaseMs, heartbeatMs: 200 };
    const runtime = createSessionRuntime({ log, upstream: upstreams.factory, options });
    const server = createServer(runtime.node);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    onDispose(async () => {
      await runtime.close();
      server.closeAllConnections();
      server.close();
    });
    await runtime.ready();
    nodes.push({ url: `http://127.0.0.1:${port}/mcp`, runtime, upstreams, cut });
  }
  return nodes as [(typeof nodes)[0], (typeof nodes)[0]];
}

const accept = "application/json, text/event-stream";

test(`${verifies("N-02", "N-03", "N-05", "X-05")}a node without its store stops what it runs, says so, and is back by itself; who shows a call adopts it`, async () => {
  const [one, two] = await startNodes(2);
  const session = await openSession(one.url);
  const cut = await session.call("charge");
  const upstream = await one.upstreams.next();
  await upstream.request("tools/call");
  cut.destroy("rst");
  const headers = { accept, "mcp-session-id": session.sessionId };
  const shown = await openEventStream({
    ...{ url: two.url, method: "GET" },
    headers: { ...headers, "last-event-id": cut.lastEventId ?? "" },
  });
  const heal = one.cut();
  // Nobody asks but the viewport on the other node.
  const answer = await shown.response();
  expect(answer.error).toMatchObject({ code: -32011, data: { reason: "owner-lost" } });
  await upstream.closed;
  const refused = await session.call("charge");
  expect(refused.status).toBe(503);
  expect(refused.headers["retry-after"]).toBeDefined();
  expect(JSON.parse(await refused.text()).error.data).toMatchObject({ notRun: true });
  expect(await one.runtime.health()).toMatchObject({ isLogReady: false });
  expect(one.runtime.sessionCount()).toBe(0);
  heal();
  let isReady = false;
  while (!isReady) {
    await new Promise((resolve) => setImmediate(resolve));
    ({ isLogReady: isReady } = await one.runtime.health());
  }
  // Through the node that lost it, by way of the one that runs it.
  const again = await session.call("charge");
  const call = await (await two.upstreams.next()).request("tools/call");
  call.answer({ content: [] });
  expect(await again.response()).toMatchObject({ result: { content: [] } });
});

test(`${verifies("D-02", "N-01")}a draining node ends what runs there, and passes on what is new`, async () => {
  const [one, two] = await startNodes(2);
  const session = await openSession(one.url);
  const running = await session.call("slow");
  const slow = await (await one.upstreams.next()).request("tools/call");
  const drained = one.runtime.drain(30_000);
  // Into the same session, and a session that is new: on the node that drains.
  const passed = await session.call("next");
  expect(passed.status).toBe(200);
  const opening = openSession(one.url);
  const fresh = await two.upstreams.next();
  expect(await opening).toMatchObject({ version: "2025-11-25" });
  slow.answer({ content: [{ type: "text", text: "slow" }] });
  expect(await running.response()).toMatchObject({ result: { content: [{ text: "slow" }] } });
  const next = await (await two.upstreams.next()).request("tools/call");
  next.answer({ content: [{ type: "text", text: "next" }] });
  expect(await passed.response()).toMatchObject({ result: { content: [{ text: "next" }] } });
  expect(await drained).toBe(0);
  expect(fresh.isClosed).toBe(false);
  expect(one.runtime.sessionCount()).toBe(0);
});
