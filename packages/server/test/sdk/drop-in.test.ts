/** For those who keep the SDK's way: its transport on our log, and our transport in its place. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { memoryLog } from "@holdfast/log";
import {
  defaultOptions,
  HoldfastServerTransport,
  type HoldfastServerTransportOptions,
  type SdkServer,
  sdkEventStore,
} from "@holdfast/server";
import { disposeAll, onDispose, openSession, verifies } from "@holdfast/testkit";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { afterEach, describe, expect, test } from "vitest";
import { builds, textOf } from "./servers.ts";

afterEach(disposeAll);

interface Transport {
  sessionId?: string | undefined;
  onclose?: (() => void) | undefined;
  handleRequest(req: IncomingMessage, res: ServerResponse, body?: unknown): Promise<void>;
}

/** The application of the SDK's documentation: one transport for each session, in a table. */
async function serveTable(open: (keep: (transport: Transport) => void) => Promise<Transport>) {
  const table = new Map<string, Transport>();
  const server = createServer(async (req, res) => {
    const body = req.method === "POST" ? await json(req) : undefined;
    const id = req.headers["mcp-session-id"];
    const known = typeof id === "string" ? table.get(id) : undefined;
    if (id !== undefined && known === undefined) return void res.writeHead(404).end();
    const transport = known ?? (await open((one) => table.set(one.sessionId as string, one)));
    await transport.handleRequest(req, res, body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onDispose(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, table };
}

function replaced(build: () => SdkServer, given: Partial<HoldfastServerTransportOptions> = {}) {
  return serveTable(async (keep) => {
    const transport: HoldfastServerTransport = new HoldfastServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: () => keep(transport),
      ...given,
    });
    await build().connect(transport);
    return transport;
  });
}

describe.each(builds)("SDK %s, HoldfastServerTransport", (_sdk, build) => {
  test(`${verifies("X-01", "R-01", "S-09")}in the SDK's place: a cut call goes on and is resumed`, async () => {
    const gate = Promise.withResolvers<void>();
    const work = async () => {
      await gate.promise;
      return "worked";
    };
    const closed: string[] = [];
    const onsessionclosed = (id: string) => void closed.push(id);
    const { url, table } = await replaced(() => build({ work }), { onsessionclosed });
    const [session, other] = [await openSession(url), await openSession(url)];
    expect([...table.keys()]).toEqual([session.sessionId, other.sessionId]);
    const stream = await session.call("work");
    await stream.nextEvent();
    stream.destroy("rst");
    const resumed = await session.get({ lastEventId: stream.lastEventId as string });
    gate.resolve();
    expect(textOf(await resumed.response())).toBe("worked");
    expect((await other.delete()).status).toBe(204);
    expect((await other.call("work")).status).toBe(404);
    expect(closed).toEqual([other.sessionId]);
    expect(textOf(await (await session.call("work")).response())).toBe("worked");
  });

  test(`${verifies("S-04")}a transport serves its own session alone`, async () => {
    const { url, table } = await replaced(() => build({ work: async () => "worked" }));
    const [session, other] = [await openSession(url), await openSession(url)];
    table.set(session.sessionId, table.get(other.sessionId) as Transport);
    expect((await session.call("work")).status).toBe(404);
  });

  test(`${verifies("D-03")}enableJsonResponse answers with JSON`, async () => {
    const work = async ({ log }: { log(data: string): Promise<void> }) => {
      await log("not told");
      return "worked";
    };
    const { url } = await replaced(() => build({ work }), { enableJsonResponse: true });
    const session = await openSession(url);
    const answer = await session.call("work", {}, { id: 7 });
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(await answer.text())).toMatchObject({ id: 7, result: { content: [{}] } });
    expect((await session.post({ jsonrpc: "2.0" })).status).toBe(400);
  });
});

describe("SDK v1's transport with sdkEventStore", () => {
  const build = builds[0]?.[1] as (typeof builds)[0][1];

  async function serveStored(maxEvents: number) {
    const log = memoryLog();
    const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
    const { retention, idempotencyTtlMs } = defaultOptions;
    await log.open({ retention: { ...retention, maxEvents }, idempotencyTtlMs, clock });
    onDispose(() => log.close());
    const work = async ({ log: say }: { log(data: string): Promise<void> }) => {
      for (let i = 1; i <= 5; i++) await say(`line ${i}`);
      return "worked";
    };
    return serveTable(async (keep) => {
      const id = randomUUID();
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => id,
        eventStore: sdkEventStore(log, id),
        onsessioninitialized: () => keep(transport as Transport),
      });
      await build({ work }).connect(transport as never);
      return transport as Transport;
    });
  }

  test(`${verifies("R-01", "E-02")}replays what came after the cursor, once, of that stream alone`, async () => {
    const { url } = await serveStored(1_000);
    const session = await openSession(url);
    const stream = await session.call("work");
    await stream.response();
    const other = await session.call("work");
    await other.response();
    const cursor = stream.events[2]?.id as string;
    const resumed = await session.get({ lastEventId: cursor });
    await resumed.response();
    const seen = resumed.messages.map(({ params }) => params?.["data"]);
    expect(seen).toEqual(["line 3", "line 4", "line 5", undefined]);
    const ids = [...stream.events, ...other.events].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    resumed.destroy();
  });

  test(`${verifies("R-03")}never goes on in silence where events are gone`, async () => {
    const { url } = await serveStored(2);
    const session = await openSession(url);
    const stream = await session.call("work");
    await stream.response();
    const resumed = await session.get({ lastEventId: stream.events[1]?.id as string });
    expect(resumed.status).toBe(500);
  });
});
