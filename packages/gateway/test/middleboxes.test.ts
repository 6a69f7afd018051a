/**
 * What stands between a client and `holdfast serve` and means well: compression, proxies that hold
 * heads back or cut what is quiet, and the limits in time of a server of our own.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  disposeAll,
  type EventStream,
  faultProxy,
  onDispose,
  openSession,
  type RawSession,
  rawRequest,
  verifies,
} from "@holdfast/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { importInterop, requireInterop } from "./interop-packages.ts";
import {
  callIn,
  range,
  serveWorker,
  stepsOf,
  ticksOf,
  type WorkerGateway,
  workerCall,
} from "./worker.ts";

let gateway: WorkerGateway;
beforeAll(async () => {
  const times = ["--heartbeat", "200ms", "--retry", "50ms"];
  gateway = await serveWorker(["--log", "memory:", ...times]);
});
afterAll(disposeAll);

const encodings = { "accept-encoding": "gzip, br" };

describe.concurrent("compression", () => {
  test(`${verifies("E-06", "c059")}no stream is encoded, whatever the client accepts`, async () => {
    const session = await openSession(gateway.url, { headers: encodings });
    await expectPlainAndPrompt(session, "plain");
  });

  test.skipIf(!requireInterop())(
    `${verifies("E-06", "c059")}behind the compression middleware each event still comes at once`,
    async () => {
      const url = await compressingProxy(gateway);
      // It does compress what it may.
      const refused = await rawRequest({ url, headers: encodings, method: "DELETE" });
      expect(refused.headers["content-encoding"]).toMatch(/^(?:gzip|br)$/);
      await expectPlainAndPrompt(await openSession(url, { headers: encodings }), "compressed");
    },
  );
});

describe.concurrent("proxies that cut what is quiet, and hold heads back", () => {
  const rules = { idleMs: 1_000, isHeadHeld: true };

  test(`${verifies("E-05", "E-06", "c018", "c035")}with heartbeats one connection lives, and its cursor stays`, async () => {
    const proxy = await faultProxy({ target: gateway.target, rules });
    const session = await openSession(proxy.url("/mcp"));
    // The head has come, so a byte of the body has; a request beside it is not held up either.
    const listening = await session.get();
    expect(await workerCall(session, "echo", { text: "beside" })).toBe("beside");
    for (let i = 0; i < 15; i++) await listening.nextComment((text) => text.startsWith("at "));
    const primedId = listening.lastEventId;
    // Comments move no cursor: they say where it is.
    const comments = listening.items.flatMap((item) => (item.kind === "comment" ? item.text : []));
    expect(new Set(comments)).toEqual(new Set([`at ${primedId}`]));
    await workerCall(session, "tick", { from: 1, count: 1 });
    await listening.nextMessage();
    expect(ticksOf(listening.messages)).toEqual([1]);
    expect(proxy.counts.cuts).toBe(0);
  });

  test(`${verifies("S-01", "R-01", "c018")}without, cut again and again, the one event comes once`, async () => {
    const quiet = await serveWorker(["--log", "memory:", "--heartbeat", "0"]);
    const proxy = await faultProxy({ target: quiet.target });
    const session = await openSession(proxy.url("/mcp"));
    proxy.setRules({ ...rules, idleMs: 300 });
    const streams = [await session.get()];
    for (let round = 0; round < 4; round++) {
      await streams[round]?.ended;
      if (round === 3) await callIn(quiet.url, session.sessionId, "tick", { from: 1, count: 1 });
      streams.push(await session.get({ lastEventId: streams[round]?.lastEventId ?? "" }));
    }
    await streams[4]?.nextMessage();
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(streams.map(({ messages }) => ticksOf(messages))).toEqual([[], [], [], [], [1]]);
    expect(proxy.counts.cuts).toBeGreaterThanOrEqual(4);
  });
});

test.concurrent(`${verifies("c032")}a long call is bound by no limit, and a neighbour notices nothing`, async () => {
  const [long, brief] = [await openSession(gateway.url), await openSession(gateway.url)];
  const work = await long.call("work", { name: "long" }, { progressToken: 1 });
  for (let i = 1; i <= 12; i++) {
    expect(await workerCall(brief, "echo", { text: String(i) })).toBe(String(i));
    await work.nextComment((text) => text.startsWith("at "));
  }
  await workerCall(long, "advance", { name: "long", progress: 1, done: true });
  expect((await work.response()).result).toMatchObject({ content: [{ text: "long done" }] });
  expect(gateway.effects("long")).toBe(1);
});

/** Events of both kinds of stream, each read before the next one is made. */
async function expectPlainAndPrompt(session: RawSession, name: string): Promise<void> {
  const listening = await session.get();
  const work = await session.call("work", { name }, { progressToken: 1 });
  await work.nextMessage();
  for (const round of range(1, 10)) {
    await workerCall(session, "tick", { from: round, count: 1 });
    await listening.nextMessage();
    await workerCall(session, "advance", { name, progress: 1 });
    await work.nextMessage();
  }
  await workerCall(session, "advance", { name, done: true });
  await work.response();
  expect(ticksOf(listening.messages)).toEqual(range(1, 10));
  expect(stepsOf(work.messages)).toEqual(range(1, 11));
  for (const stream of [session.initializeStream, listening, work]) expectUnbuffered(stream);
}

function expectUnbuffered({ headers }: EventStream): void {
  expect(headers["content-type"]).toMatch(/^text\/event-stream/);
  expect(headers["content-encoding"]).toBeUndefined();
  expect(headers["cache-control"]).toBe("no-cache, no-transform");
  expect(headers["x-accel-buffering"]).toBe("no");
}

type Middleware = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

interface Compression {
  readonly default: (options: { readonly threshold: number }) => Middleware;
}

/** A reverse proxy of a few lines that compresses as Express applications do. */
async function compressingProxy({ target }: WorkerGateway): Promise<string> {
  const compression = await importInterop<Compression>("compression");
  const compress = compression.default({ threshold: 0 });
  const server = createServer((asked, answer) => {
    compress(asked, answer, () => {
      const { method = "GET", url = "/" } = asked;
      const forwarded = request({ ...target, method, path: url, headers: asked.headers });
      forwarded.on("response", (from) => {
        answer.writeHead(from.statusCode ?? 502, from.headers);
        from.pipe(answer);
      });
      forwarded.on("error", () => answer.destroy());
      answer.on("close", () => forwarded.destroy());
      asked.pipe(forwarded);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onDispose(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}
