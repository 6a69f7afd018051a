/** Chapter: protocol versions, the session's own, the unsupported, the stateless. */
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import { expectAlive, expectRefusal, primed } from "./checks.ts";
import { respondToSetup, serverHello } from "./scripted-upstream.ts";

export function versionsChapter(open: OpenBench): void {
  headers(open);
  statelessRequests(open);
  bodies(open);
  olderUpstreams(open);
}

const json = { accept: acceptBoth, "content-type": "application/json" };

const unsupported = (requested: string) => ({
  status: 400,
  code: -32022,
  type: "unsupported-version",
  data: { supported: ["2025-11-25", "2025-06-18", "2025-03-26"], requested },
});

function headers(open: OpenBench): void {
  test(`${verifies("S-09")}an unsupported version in the header is refused on every method`, async () => {
    const bench = await open();
    const session = await bench.session();
    for (const version of ["2026-07-28", "2024-11-05", "2025-11-26", "1.0.0", "latest", "2025"]) {
      const options = { headers: { "mcp-protocol-version": version } };
      const ping = { jsonrpc: "2.0", id: 3, method: "ping" };
      const refusal = unsupported(version);
      await expectRefusal(await session.post(ping, options), { ...refusal, id: 3 });
      await expectRefusal(await session.get(options), refusal);
      await expectRefusal(await session.delete(options), refusal);
      const begin = await openEventStream({
        ...{ url: bench.url, method: "POST", body: JSON.stringify(initializeMessage()) },
        headers: { ...json, ...options.headers },
      });
      await expectRefusal(begin, { ...refusal, id: 0 });
    }
    expect(bench.upstreams.all).toHaveLength(1);
    await expectAlive(session);
  });

  test(`${verifies("S-09")}every supported version is accepted in the header, and none`, async () => {
    const bench = await open();
    const session = await bench.session();
    for (const version of ["2025-11-25", "2025-06-18", "2025-03-26", undefined]) {
      const options = { headers: { "mcp-protocol-version": version } };
      const stream = await session.request("ping", undefined, options);
      expect((await stream.response()).result).toEqual({});
    }
  });
}

function statelessRequests(open: OpenBench): void {
  const claim = { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };

  test(`${verifies("S-09")}a request of the stateless revision is told what is served`, async () => {
    const bench = await open();
    const session = await bench.session();
    const stateless = [
      { jsonrpc: "2.0", id: "d", method: "server/discover", params: claim },
      { jsonrpc: "2.0", id: "d", method: "server/discover" },
      { jsonrpc: "2.0", id: "d", method: "tools/list", params: claim },
      { jsonrpc: "2.0", id: "d", method: "tools/call", params: { name: "t", ...claim } },
    ];
    for (const message of stateless) {
      const refusal = { ...unsupported("2026-07-28"), id: "d" };
      // Without a session, as its clients send it, and in the wrong place.
      for (const sessionId of [undefined, "never-issued", session.sessionId]) {
        const stream = await session.post(message, {
          headers: { "mcp-session-id": sessionId, "mcp-protocol-version": undefined },
        });
        await expectRefusal(stream, refusal);
      }
    }
    expect(session.upstream.arrivals.map(({ message }) => message.method)).toEqual([
      "initialize",
      "notifications/initialized",
    ]);
    await expectAlive(session);
  });
}

function bodies(open: OpenBench): void {
  test(`${verifies("S-09")}no protocolVersion in the body of initialize is refused`, async () => {
    const bench = await open();
    bench.upstreams.respond = ({ method }) =>
      method === "initialize" ? serverHello("2025-06-18") : undefined;
    for (const version of ["2026-07-28", "2024-11-05", "1999-01-01", "", 7, null, undefined, {}]) {
      const message = {
        ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
        params: { protocolVersion: version, capabilities: {} },
      };
      const stream = await openEventStream({
        ...{ url: bench.url, method: "POST", headers: json, body: JSON.stringify(message) },
      });
      expect(stream.status).toBe(200);
      expect((await stream.response(0)).result).toMatchObject({ protocolVersion: "2025-06-18" });
      const [initialize] = (await bench.upstreams.next()).arrivals;
      expect(initialize?.message.params?.["protocolVersion"]).toEqual(version);
    }
  });
}

function olderUpstreams(open: OpenBench): void {
  test(`${verifies("S-09", "E-05")}an older upstream's version is the session's own`, async () => {
    const bench = await open();
    const current = await bench.session();
    bench.upstreams.respond = (request, upstream) =>
      request.method === "initialize"
        ? serverHello("2024-11-05")
        : respondToSetup(request, upstream);
    const session = await bench.session();
    expect(session.version).toBe("2024-11-05");
    const options = { headers: { "mcp-protocol-version": "2024-11-05" } };

    const ping = await session.request("ping", undefined, options);
    expect(await ping.next()).toMatchObject({ kind: "comment" });
    expect((await ping.response(1)).result).toEqual({});
    expect(ping.events.every(({ data }) => data !== "")).toBe(true);
    const standalone = await session.get(options);
    expect(standalone.status).toBe(200);
    expect(await standalone.next()).toMatchObject({ kind: "comment" });
    const batch = await session.post([{ jsonrpc: "2.0", id: 9, method: "ping" }], options);
    expect((await batch.response(9)).result).toEqual({});

    // It is this session's own, and no other's.
    await expectRefusal(await current.get(options), unsupported("2024-11-05"));
    await primed(await current.get());
    expect((await session.delete(options)).status).toBe(204);
  });
}
