/** Chapter: how streams begin: at once, with a cursor or with a comment. */
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { onDispose } from "../disposal.ts";
import type { EventStream } from "../event-stream.ts";
import { faultProxy } from "../fault-proxy.ts";
import { acceptBoth } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { respondToSetup } from "./scripted-upstream.ts";
import { openCall, placeOf, sayNotes } from "./traffic.ts";

export function openingsChapter(open: OpenBench): void {
  test(`${verifies("E-05")}streams of 2025-11-25 begin with a priming event`, async () => {
    const bench = await open({ options: { retryMs: 1_234 } });
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    call.answer({});
    await stream.response();
    const first = await firstBlock(stream);
    expect(first).toBe(`id: ${placeId(session, 1, stream)}\nretry: 1234\ndata:\n`);
    const standalone = await session.get();
    await standalone.nextEvent();
    expect(await firstBlock(standalone)).toBe(
      `id: ${placeId(session, 0, standalone)}\nretry: 1234\ndata:\n`,
    );
  });

  test(`${verifies("E-05")}a resumed stream is primed with its cursor`, async () => {
    const bench = await open();
    const session = await bench.session();
    const before = await session.get();
    sayNotes(session.upstream, 1, 3);
    for (let i = 0; i < 3; i += 1) await before.nextMessage();
    const cursor = before.lastEventId as string;
    const after = await session.get({ lastEventId: cursor });
    await after.nextEvent();
    expect(await firstBlock(after)).toBe(`id: ${cursor}\nretry: 1000\ndata:\n`);
  });

  for (const version of ["2025-06-18", "2025-03-26"]) {
    test(`${verifies("E-05")}streams of ${version} begin with a comment`, async () => {
      const bench = await open();
      const session = await bench.session({ version });
      const { stream, call } = await openCall(session);
      sayNotes(session.upstream, 1, 1);
      call.answer({});
      await stream.response();
      const resumed = await session.get({ lastEventId: stream.events[0]?.id as string });
      await resumed.response();
      const standalone = await session.get();
      sayNotes(session.upstream, 2, 2);
      await standalone.nextMessage();
      for (const one of [stream, resumed, standalone]) {
        expect(one.items[0]?.kind).toBe("comment");
        // Their clients cannot parse empty data.
        expect(one.items.filter((item) => item.kind === "id")).toEqual([]);
        expect(one.events.filter((event) => event.data === "")).toEqual([]);
        expect(one.items.filter((item) => item.kind === "retry")).toEqual([]);
      }
    });
  }

  test(`${verifies("E-05")}a client named by noPrime gets no priming event`, async () => {
    const bench = await open({ options: { noPrime: ["fragile"] } });
    const fragile = await bench.session({ clientInfo: { name: "fragile", version: "1" } });
    const sturdy = await bench.session({ clientInfo: { name: "sturdy", version: "1" } });
    for (const [session, kind] of [
      [fragile, "comment"],
      [sturdy, "retry"],
    ] as const) {
      const { stream, call } = await openCall(session);
      call.answer({});
      await stream.response();
      const standalone = await session.get();
      await standalone.next();
      expect([stream.items[0]?.kind, standalone.items[0]?.kind]).toEqual([kind, kind]);
    }
  });

  test(`${verifies("E-05")}the stream of initialize begins with a comment`, async () => {
    const bench = await open();
    const { initializeStream } = await bench.session();
    expect(initializeStream.items[0]?.kind).toBe("comment");
    expect(initializeStream.items.filter((item) => item.kind === "retry")).toEqual([]);
  });

  test(`${verifies("E-05", "c035")}a first byte leaves where nothing else is said`, async () => {
    const bench = await open({ options: { heartbeatMs: 0 } });
    // As HTTP/2 proxies do: no head before a byte of the body.
    const proxy = await faultProxy({ target: bench.target, rules: { isHeadHeld: true } });
    for (const version of ["2025-11-25", "2025-06-18"]) {
      const session = await bench.session({ url: proxy.url("/mcp"), version });
      const standalone = await session.get();
      expect([standalone.status, (await standalone.next()) !== undefined]).toEqual([200, true]);
      session.upstream.stopReading();
      const call = await session.call("work");
      expect([call.status, (await call.next()) !== undefined]).toEqual([200, true]);
    }
  });

  test(`${verifies("E-05")}a first byte is out before the upstream hears the request`, async () => {
    const bench = await open();
    const session = await bench.session();
    const heard = Promise.withResolvers<string>();
    const reader = outsideReader(bench.target.port, session);
    // An upstream that holds up the whole process until the reader, outside of it, has a byte.
    bench.upstreams.respond = (request, upstream) => {
      if (request.method !== "tools/call") return respondToSetup(request, upstream);
      heard.resolve(Atomics.wait(reader.hasByte, 0, 0, 10_000));
      return {};
    };
    reader.start();
    expect(await heard.promise).not.toBe("timed-out");
  });
}

/** Text of the first block of a stream, its end left out. */
async function firstBlock(stream: EventStream): Promise<string> {
  const text = Buffer.concat(stream.chunks).toString("utf8");
  return text.slice(0, text.indexOf("\n\n") + 1);
}

/** The id of the place before the first event of a stream. */
function placeId(session: BenchSession, streamMin: number, stream: EventStream): string {
  const [first] = stream.events;
  const place = placeOf(first?.id);
  expect(place.tag).toBe(session.tag);
  expect(place.position).toBe(0);
  expect(place.stream).toBeGreaterThanOrEqual(streamMin);
  return first?.id as string;
}

/** Reads a call's response on a thread of its own; `hasByte[0]` is 1 once a byte of it came. */
function outsideReader(port: number, session: BenchSession) {
  const hasByte = new Int32Array(new SharedArrayBuffer(4));
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: {} });
  const request = [
    "POST /mcp HTTP/1.1",
    `host: 127.0.0.1:${port}`,
    `accept: ${acceptBoth}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    `mcp-session-id: ${session.sessionId}`,
    `mcp-protocol-version: ${session.version}`,
  ].join("\r\n");
  return {
    hasByte,
    start: () => {
      const workerData = { port, hasByte, request: `${request}\r\n\r\n${body}` };
      const worker = new Worker(readOutside, { eval: true, workerData, execArgv: [], env: {} });
      onDispose(async () => void (await worker.terminate()));
    },
  };
}

const readOutside = `
  const { workerData: { port, hasByte, request } } = require("node:worker_threads");
  let text = "";
  require("node:net").connect(port, "127.0.0.1").on("data", (bytes) => {
    text += bytes.toString("latin1");
    const [, body] = text.split("\\r\\n\\r\\n");
    if (!body) return;
    Atomics.store(hasByte, 0, 1);
    Atomics.notify(hasByte, 0);
  }).write(request);
`;
