import type { IncomingHttpHeaders } from "node:http";
import { afterEach, expect, test } from "vitest";
import { scriptedServer } from "../test/scripted-server.ts";
import { disposeAll } from "./disposal.ts";
import { openSession } from "./raw-session.ts";

afterEach(disposeAll);

interface Seen {
  readonly method: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A server of one session that notes every request; `initialize` is answered as told. */
async function notingServer(initializeAs: "sse" | "json" | "refusal", version = "2025-11-25") {
  const seen: Seen[] = [];
  const result = { jsonrpc: "2.0", id: 0, result: { protocolVersion: version } };
  const { url } = await scriptedServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    seen.push({ method: request.method, headers: request.headers, text });
    const isInitialize = text.includes('"initialize"');
    if (isInitialize && initializeAs === "refusal") {
      response.writeHead(503).end('{"error":{"code":-32000}}');
    } else if (isInitialize) {
      response.setHeader("mcp-session-id", "s-1");
      const isSse = initializeAs === "sse";
      response.setHeader("content-type", isSse ? "text/event-stream" : "application/json");
      response.end(
        isSse ? `: hello\n\ndata: ${JSON.stringify(result)}\n\n` : JSON.stringify(result),
      );
    } else response.writeHead(202).end();
  });
  return { url, seen };
}

test("a session is opened by hand, its requests carry id and version", async () => {
  const { url, seen } = await notingServer("sse");
  const session = await openSession(url, { headers: { authorization: "Bearer t" } });
  expect(session).toMatchObject({ sessionId: "s-1", version: "2025-11-25", url });
  expect(session.initializeStream.items[0]).toEqual({ kind: "comment", text: "hello" });
  await session.call("charge", { cents: 5 }, { progressToken: "p" });
  await session.call("charge", {}, { id: "own", headers: { "Idempotency-Key": "k" } });
  await session.get({ lastEventId: "e.1" });
  await session.delete();

  expect(seen.map(({ method }) => method)).toEqual([
    "POST",
    "POST",
    "POST",
    "POST",
    "GET",
    "DELETE",
  ]);
  const always = { "mcp-session-id": "s-1", authorization: "Bearer t" };
  for (const { headers } of seen.slice(1)) {
    expect(headers).toMatchObject({ ...always, "mcp-protocol-version": "2025-11-25" });
  }
  expect(seen[0]?.headers).not.toHaveProperty("mcp-session-id");
  expect(JSON.parse(seen[1]?.text ?? "")).toEqual({
    jsonrpc: "2.0",
    method: "notifications/initialized",
  });
  expect(JSON.parse(seen[2]?.text ?? "")).toEqual({
    ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
    params: { name: "charge", arguments: { cents: 5 }, _meta: { progressToken: "p" } },
  });
  expect(seen[3]?.headers["idempotency-key"]).toBe("k");
  expect(JSON.parse(seen[3]?.text ?? "")).toMatchObject({ id: "own" });
  expect(seen[4]?.headers).toMatchObject({ accept: "text/event-stream", "last-event-id": "e.1" });
});

test("headers can be replaced and left out", async () => {
  const { url, seen } = await notingServer("json");
  const session = await openSession(url);
  await session.post("not json", { headers: { "Mcp-Session-Id": undefined, Accept: "*/*" } });
  expect(seen.at(-1)?.headers).not.toHaveProperty("mcp-session-id");
  expect(seen.at(-1)).toMatchObject({ text: "not json", headers: { accept: "*/*" } });
});

test("an older version sends no version header, and initialized is left out on demand", async () => {
  const { url, seen } = await notingServer("json", "2025-03-26");
  const session = await openSession(url, { version: "2025-03-26", isInitializedSent: false });
  expect(seen).toHaveLength(1);
  await session.request("ping");
  expect(seen[1]?.headers).not.toHaveProperty("mcp-protocol-version");
});

test("a refused initialize is an error with status and body", async () => {
  const { url } = await notingServer("refusal");
  await expect(openSession(url)).rejects.toThrow('503, id undefined, {"error":{"code":-32000}}');
});
