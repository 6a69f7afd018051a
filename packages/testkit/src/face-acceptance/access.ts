/** Chapter: whose pages may speak to the endpoint, under which names it answers. */
import { expect, test } from "vitest";
import { type EventStream, openEventStream } from "../event-stream.ts";
import type { RawHeaders, RawRequest } from "../http-exchange.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectRefusal } from "./checks.ts";

export function accessChapter(open: OpenBench): void {
  origins(open);
  hosts(open);
  configured(open);
  preflights(open);
}

const badOrigin = { status: 403, code: -32000, type: "origin-not-allowed" };
const badHost = { status: 403, code: -32000, type: "host-not-allowed" };

/** Each method that a page could use; DELETE is left out where the session must live on. */
async function sendAll(session: BenchSession, headers: RawHeaders): Promise<EventStream[]> {
  const always = { "mcp-session-id": session.sessionId, accept: acceptBoth, ...headers };
  const { url } = session;
  const json = { ...always, "content-type": "application/json" };
  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}';
  const initialize = JSON.stringify(initializeMessage());
  const requests: RawRequest[] = [
    { url, method: "POST", headers: json, body: call },
    // Refused before the body is read: it never comes.
    { url, method: "POST", headers: json, body: " ".repeat(1_000_000), bodyBytesSent: 10 },
    { url, method: "POST", headers: { ...json, "mcp-session-id": undefined }, body: initialize },
    ...["GET", "DELETE", "OPTIONS", "PUT"].map((method) => ({ url, method, headers: always })),
  ];
  const streams: EventStream[] = [];
  for (const request of requests) streams.push(await openEventStream(request));
  return streams;
}

function origins(open: OpenBench): void {
  const good = (port: string): (string | undefined)[] => [
    ...[undefined, `http://localhost:${port}`, `http://127.0.0.1:${port}`, "http://localhost"],
    ...["https://localhost:1", "http://[::1]:8080", `HTTP://LOCALHOST:${port}`],
  ];
  const bad: readonly (string | readonly string[])[] = [
    ...["https://evil.example", "null", "", "http://localhost.evil.example", "localhost"],
    ...["http://127.0.0.1.evil.example", "http://evil.example:80", "file://", "data:,"],
    ...["http://localhost@evil.example", "http://user@localhost", "http://localhost/path"],
    ...["http://127.0.0.2", "http://localhost:99999", "chrome-extension://localhost"],
    ["http://localhost", "http://localhost"],
    ["http://localhost", "https://evil.example"],
    ["https://evil.example", "http://localhost"],
  ];

  test(`${verifies("P-01", "c064")}pages of this machine may speak, and callers that are no page`, async () => {
    const bench = await open();
    const session = await bench.session();
    for (const origin of good(new URL(bench.url).port)) {
      const stream = await session.request("ping", undefined, { headers: { origin } });
      expect(`${origin}: ${stream.status}`).toBe(`${origin}: 200`);
      expect(stream.headers["access-control-allow-origin"]).toBe(origin);
    }
  });

  test(`${verifies("P-01", "c064")}pages of others are refused, whatever they send, and nothing runs`, async () => {
    const bench = await open();
    const session = await bench.session();
    for (const origin of bad) {
      for (const stream of await sendAll(session, { origin })) {
        await expectRefusal(stream, badOrigin);
        expect(stream.headers["access-control-allow-origin"]).toBeUndefined();
      }
    }
    expect(session.upstream.arrivals).toHaveLength(2);
    expect(bench.upstreams.all).toHaveLength(1);
    await expectAlive(session);
  });
}

function hosts(open: OpenBench): void {
  const good = ["localhost", "localhost:1", "127.0.0.1", "[::1]:8848", "LOCALHOST:65535"];
  const bad: readonly (string | readonly string[] | undefined)[] = [
    ...["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil@localhost"],
    ...["localhost:port", "localhost:", "", "127.0.0.2", "[::2]", "localhost/x", "::1"],
    ["localhost", "evil.example"],
    ["localhost", "localhost"],
    undefined,
  ];

  test(`${verifies("P-01", "c064")}the endpoint answers under names of loopback`, async () => {
    const bench = await open();
    const session = await bench.session();
    for (const host of good) {
      const stream = await session.request("ping", undefined, { headers: { host } });
      expect(`${host}: ${stream.status}`).toBe(`${host}: 200`);
    }
  });

  test(`${verifies("P-01", "c064")}under any other name it refuses, with an Origin or without`, async () => {
    const bench = await open();
    const session = await bench.session();
    for (const host of bad) {
      for (const stream of await sendAll(session, hostHeaders(host))) {
        await expectRefusal(stream, badHost);
      }
      const origin = { ...hostHeaders(host), origin: "http://localhost" };
      await expectRefusal(await session.get({ headers: origin }), badHost);
    }
    expect(session.upstream.arrivals).toHaveLength(2);
    expect(bench.upstreams.all).toHaveLength(1);
    await expectAlive(session);
  });
}

const hostHeaders = (host: string | readonly string[] | undefined): RawHeaders => ({ host });

function configured(open: OpenBench): void {
  test(`${verifies("P-01", "c064")}allowed origins and hosts can be added`, async () => {
    const bench = await open({
      options: {
        allowedOrigins: ["https://app.example", "http://[2001:db8::1]:3000"],
        allowedHosts: ["mcp.example", "proxy.example:8443"],
      },
    });
    const session = await bench.session();
    const status = async (headers: RawHeaders) =>
      (await session.request("ping", undefined, { headers })).status;
    for (const origin of ["https://app.example", "http://[2001:db8::1]:3000", "http://localhost"]) {
      expect(`${origin}: ${await status({ origin })}`).toBe(`${origin}: 200`);
    }
    const others = [
      ...["http://app.example", "https://app.example:444", "https://sub.app.example"],
      ...["https://app.example.evil.example", "http://[2001:db8::1]"],
    ];
    for (const origin of others)
      expect(`${origin}: ${await status({ origin })}`).toBe(`${origin}: 403`);
    for (const host of ["mcp.example", "mcp.example:1", "MCP.Example", "proxy.example:8443"]) {
      expect(`${host}: ${await status({ host })}`).toBe(`${host}: 200`);
    }
    for (const host of ["proxy.example", "proxy.example:8444", "x.mcp.example", "mcp.example.x"]) {
      expect(`${host}: ${await status({ host })}`).toBe(`${host}: 403`);
    }
  });
}

function preflights(open: OpenBench): void {
  const sent = [
    ...["authorization", "content-type", "accept", "mcp-session-id", "last-event-id"],
    ...["mcp-protocol-version", "idempotency-key", "mcp-resume-contract"],
  ];
  const listOf = (header: string | undefined) =>
    (header ?? "").split(",").map((name) => name.trim().toLowerCase());

  test(`${verifies("P-01", "c064")}a preflight of an allowed page is told what it may send`, async () => {
    const bench = await open({ options: { allowedOrigins: ["https://app.example"] } });
    const stream = await openEventStream({
      ...{ url: bench.url, method: "OPTIONS" },
      headers: {
        origin: "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": sent.join(","),
      },
    });
    expect(stream.status).toBe(204);
    expect(stream.headers["access-control-allow-origin"]).toBe("https://app.example");
    const methods = listOf(stream.headers["access-control-allow-methods"]);
    expect(methods).toEqual(expect.arrayContaining(["get", "post", "delete"]));
    const headers = listOf(stream.headers["access-control-allow-headers"]);
    expect(headers).toEqual(expect.arrayContaining(sent));
    // [fetch] credentials of the page's user are never asked for.
    expect(stream.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  test(`${verifies("P-01", "c064")}an allowed page can read the session id, and refusals too`, async () => {
    const bench = await open();
    const session = await bench.session({ headers: { origin: "http://localhost:3000" } });
    const answers = [
      session.initializeStream,
      await session.request("ping"),
      await session.get(),
      await session.notify("notifications/x"),
      await session.post("{"),
      await session.get({ headers: { "mcp-session-id": "nobody" } }),
      await session.post("{}", { headers: { "content-type": "text/plain" } }),
      await session.delete(),
    ];
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 200, 202, 400, 404, 415, 204]);
    for (const { headers } of answers) {
      expect(headers["access-control-allow-origin"]).toBe("http://localhost:3000");
      expect(listOf(headers["access-control-expose-headers"])).toContain("mcp-session-id");
      expect(listOf(headers["vary"])).toContain("origin");
    }
  });
}
