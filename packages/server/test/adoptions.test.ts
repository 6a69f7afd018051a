/** A session that another node takes over is counted there, once, and told of. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryLog, memoryStore } from "@holdfast/log";
import { createSessionRuntime, type Mark } from "@holdfast/server";
import { disposeAll, onDispose, openEventStream, openSession, verifies } from "@holdfast/testkit";
import { scriptedUpstreams } from "@holdfast/testkit/face-acceptance";
import { afterEach, expect, test } from "vitest";

afterEach(disposeAll);

test(`${verifies("N-03")}a session of a node that is gone is adopted by the next that is asked`, async () => {
  const store = memoryStore();
  const first = await node(memoryLog(store));
  const second = await node(memoryLog(store));
  const session = await openSession(first.url);
  await first.close();
  const headers = { "mcp-session-id": session.sessionId, accept: "text/event-stream" };
  expect((await openEventStream({ url: second.url, headers })).status).toBe(200);
  expect(second.marks.filter(({ kind }) => kind === "adopted")).toHaveLength(1);
  expect(first.marks.filter(({ kind }) => kind === "adopted")).toEqual([]);
});

async function node(log: ReturnType<typeof memoryLog>) {
  const marks: Mark[] = [];
  const runtime = createSessionRuntime({
    ...{ log, upstream: scriptedUpstreams().factory },
    observe: (mark) => void marks.push(mark),
  });
  await runtime.ready();
  const server = createServer(runtime.node).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await runtime.close();
    server.closeAllConnections();
    server.close();
  };
  onDispose(close);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/mcp`, marks, close };
}
