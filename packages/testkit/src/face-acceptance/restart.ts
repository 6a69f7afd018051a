/** Chapter: the process ends, or crashes, and another goes on; sessions do not notice. */
import { parseEventId } from "@holdfast/contract";
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { Bench, BenchSession, OpenBench } from "./bench.ts";
import {
  expectAlive,
  expectRefusal,
  primed,
  replayed,
  sessionNotFound,
  textsOf,
} from "./checks.ts";
import type { LogGate, Stop } from "./face.ts";
import { respondToSetup, type ScriptedUpstream } from "./scripted-upstream.ts";
import { door, note } from "./traffic.ts";

export function restartChapter(open: OpenBench): void {
  for (const stop of ["close", "crash"] as const) going(open, stop);
  journals(open);
  endings(open);
  births(open);
}

const methodsOf = (upstream: ScriptedUpstream) =>
  upstream.arrivals.map(({ message }) => message.method);

function going(open: OpenBench, stop: Stop): void {
  test(`${verifies("S-07", "E-02")}after a ${stop} a session answers, ids rise, cursors are valid`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const begin = await primed(standalone);
    for (let number = 1; number <= 3; number++) session.upstream.say(note(number));
    await standalone.nextMessage(({ params }) => hasNumber(params, 3));
    const cursor = standalone.lastEventId ?? "";
    await bench.restart(stop);

    const resumed = await session.get({ lastEventId: cursor });
    expect(resumed.status).toBe(200);
    const upstream = await bench.upstreams.of(session.tag);
    await upstream.notification("notifications/initialized");
    upstream.say(note(4));
    await resumed.nextMessage(({ params }) => hasNumber(params, 4));
    const all = await session.get({ lastEventId: begin });
    await all.nextMessage(({ params }) => hasNumber(params, 4));
    const ids = all.events.map(({ id }) => parseEventId(id ?? "")?.position);
    expect(ids).toEqual([0, 1, 2, 3, 4]);
    // Of another process: another incarnation, so nothing of the two can be mixed up.
    const incarnations = all.events.slice(1).map(({ id }) => parseEventId(id ?? "")?.incarnation);
    expect(new Set(incarnations).size).toBe(2);
    expect(textsOf(resumed)).toHaveLength(1);
    await expectAlive(session);
  });

  test(`${verifies("S-07", "X-05", "E-10")}result logged but not delivered before the ${stop}: it is there`, async () => {
    const bench = await open();
    const session = await bench.session();
    const stream = await session.call("charge", {}, { id: 7 });
    const cursor = await primed(stream);
    const call = await session.upstream.request("tools/call");
    stream.destroy("rst");
    call.answer({ charged: 1 });
    // What is asked behind it is answered when it is in the log.
    await expectAlive(session);
    await bench.restart(stop);
    const [text = ""] = await replayed(session, cursor);
    expect(JSON.parse(text)).toEqual({ jsonrpc: "2.0", id: 7, result: { charged: 1 } });
    const done = await session.get({ lastEventId: (await lastIdOf(session, cursor)) ?? "" });
    expect(done.status).toBe(204);
  });

  test(`${verifies("S-07")}after a ${stop} no server runs until a client asks`, async () => {
    const bench = await open();
    const sessions = [await bench.session(), await bench.session(), await bench.session()];
    await bench.restart(stop);
    expect(bench.upstreams.all).toHaveLength(3);
    expect(bench.sessionCount()).toBe(0);
    const [first, second] = sessions;
    if (first === undefined || second === undefined) throw new Error("no sessions");
    await expectAlive(first);
    expect(bench.upstreams.all).toHaveLength(4);
    // Who listens to the standalone stream listens for a server.
    await second.get();
    await bench.upstreams.of(second.tag);
    expect(bench.upstreams.all).toHaveLength(5);
    expect(bench.sessionCount()).toBe(2);
  });
}

function hasNumber(params: Readonly<Record<string, unknown>> | undefined, number: number): boolean {
  const data = params?.["data"];
  return typeof data === "object" && data !== null && "number" in data && data.number === number;
}

async function lastIdOf(session: BenchSession, cursor: string): Promise<string | undefined> {
  const stream = await session.get({ lastEventId: cursor });
  await stream.body();
  return stream.lastEventId;
}

/** Set up what a fresh server has to be told; every request is answered. */
async function setUp(session: BenchSession): Promise<void> {
  const requests: readonly (readonly [string, object])[] = [
    ["logging/setLevel", { level: "debug" }],
    ["resources/subscribe", { uri: "file:///a" }],
    ["resources/subscribe", { uri: "file:///b" }],
    ["logging/setLevel", { level: "error" }],
    ["resources/unsubscribe", { uri: "file:///a" }],
  ];
  for (const [method, params] of requests) {
    const stream = await session.request(method, params);
    (await session.upstream.request(method)).answer({});
    await stream.body();
  }
}

const capabilities = { sampling: {}, roots: { listChanged: true } };

const journal = [
  ["initialize", { protocolVersion: "2025-06-18", capabilities }],
  ["notifications/initialized", undefined],
  ["logging/setLevel", { level: "error" }],
  ["resources/subscribe", { uri: "file:///b" }],
];

function journals(open: OpenBench): void {
  test(`${verifies("S-07")}the new server hears the setup, its answers are nobody's`, async () => {
    const bench = await open();
    const session = await bench.session({ capabilities, version: "2025-06-18" });
    await setUp(session);
    await bench.restart("crash");
    bench.upstreams.respond = (request, upstream) => {
      const isCall = request.method === "tools/call";
      return respondToSetup(request, upstream) ?? (isCall ? undefined : { secret: true });
    };
    const standalone = await session.get();
    const stream = await session.call("t", {}, { id: "t" });
    const upstream = await bench.upstreams.of(session.tag);
    (await upstream.request("tools/call")).answer({ ok: true });
    await stream.body();
    const heard = upstream.arrivals.map(({ message }) => [message.method, message.params]);
    expect(heard.slice(0, -1)).toMatchObject(journal);
    expect(stream.messages).toEqual([{ jsonrpc: "2.0", id: "t", result: { ok: true } }]);
    expect(standalone.messages).toEqual([]);
  });

  test(`${verifies("S-07")}killed during the journal's replay, the next start replays it whole`, async () => {
    const bench = await open();
    const session = await bench.session({ capabilities, version: "2025-06-18" });
    await setUp(session);
    await bench.restart("crash");
    bench.upstreams.respond = () => undefined;
    await session.call("charge", {}, { id: 1 });
    const half = await bench.upstreams.of(session.tag);
    await half.request("initialize");
    // Neither `initialized` nor the call were said yet.
    expect(methodsOf(half)).toEqual(["initialize"]);
    await bench.restart("crash");

    bench.upstreams.respond = respondToSetup;
    const stream = await session.call("t", {}, { id: "t" });
    const upstream = await bench.upstreams.of(session.tag);
    (await upstream.request("tools/call")).answer({});
    expect((await stream.response("t")).result).toEqual({});
    const heard = upstream.arrivals.map(({ message }) => [message.method, message.params]);
    expect(heard.slice(0, -1)).toMatchObject(journal);
    expect(bench.upstreams.all.flatMap(methodsOf).filter((m) => m === "tools/call")).toHaveLength(
      1,
    );
  });

  test(`${verifies("S-07", "X-06")}an answer to a question of the dead server reaches no other`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    session.upstream.say({ id: 1, method: "roots/list" });
    const question = await standalone.nextMessage(({ method }) => method === "roots/list");
    await bench.restart("crash");
    const again = await session.get({ lastEventId: standalone.lastEventId ?? "" });
    const upstream = await bench.upstreams.of(session.tag);
    await upstream.notification("notifications/initialized");
    upstream.say({ id: 1, method: "roots/list" });
    const next = await again.nextMessage(({ method }) => method === "roots/list");
    expect(next.id).not.toBe(question.id);
    const late = await session.post({ jsonrpc: "2.0", id: question.id, result: { roots: [] } });
    expect(late.status).toBe(202);
    const roots = [{ uri: "file:///new" }];
    await session.post({ jsonrpc: "2.0", id: next.id, result: { roots } });
    await expectAlive(session);
    const answers = upstream.arrivals.filter(({ message }) => message.method === undefined);
    expect(answers.map(({ message }) => message)).toEqual([
      { jsonrpc: "2.0", id: 1, result: { roots } },
    ]);
  });
}

function endings(open: OpenBench): void {
  test(`${verifies("S-07", "S-04", "D-01")}a server that refuses the journal ends the session, never half alive`, async () => {
    const bench = await open();
    const session = await bench.session();
    await bench.restart("close");
    bench.upstreams.respond = () => undefined;
    const standalone = await session.get();
    const upstream = await bench.upstreams.of(session.tag);
    (await upstream.request("initialize")).fail({ code: -32603, message: "no" });
    expect(await standalone.nextEvent(({ event }) => event === "close")).toMatchObject({
      data: '{"reason":"ended"}',
    });
    await expectRefusal(await session.get(), sessionNotFound("ended"));
    await expectRefusal(await session.call("t", {}, { id: 4 }), {
      ...sessionNotFound("ended"),
      id: 4,
    });
    await upstream.closed;
    await bench.restart("close");
    await expectRefusal(await session.delete(), sessionNotFound("ended"));
    expect(methodsOf(upstream)).toEqual(["initialize"]);
  });

  test(`${verifies("S-04", "S-07")}a session that was deleted stays so after a restart`, async () => {
    const bench = await open();
    const session = await bench.session();
    expect((await session.delete()).status).toBe(204);
    for (const stop of ["crash", "close"] as const) {
      await bench.restart(stop);
      await expectRefusal(await session.get(), sessionNotFound("deleted"));
      await expectRefusal(await session.call("t", {}, { id: 1 }), sessionNotFound("deleted"));
    }
    expect(bench.upstreams.all).toHaveLength(1);
  });
}

function births(open: OpenBench): void {
  const json = { accept: acceptBoth, "content-type": "application/json" };
  const initialize = (bench: Bench) =>
    openEventStream({
      ...{ url: bench.url, method: "POST", headers: json },
      body: JSON.stringify(initializeMessage()),
    });
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

  test(`${verifies("S-07", "S-03")}a session whose initialize was never answered has ended`, async () => {
    const bench = await open();
    bench.upstreams.respond = () => undefined;
    const stream = await initialize(bench);
    const id = stream.headers["mcp-session-id"];
    await (await bench.upstreams.next()).request("initialize");
    await bench.restart("crash");
    const headers = { ...json, "mcp-session-id": id };
    const request = { url: bench.url, method: "POST", headers };
    for (let round = 0; round < 2; round++) {
      const post = await openEventStream({ ...request, body: ping });
      await expectRefusal(post, { ...sessionNotFound("ended"), id: 1 });
      await expectRefusal(
        await openEventStream({ url: bench.url, headers }),
        sessionNotFound("ended"),
      );
    }
    expect(bench.upstreams.all).toHaveLength(1);
  });

  test(`${verifies("S-07", "S-03")}answered before the crash, but not yet delivered: it lives`, async () => {
    const answered = door();
    const afterCommit: LogGate["afterCommit"] = async (ops) => {
      if (!ops.some(({ op }) => op === "append")) return;
      answered.open();
      await new Promise<never>(() => {});
    };
    const bench = await open({ logGate: { afterCommit } });
    const stream = await initialize(bench);
    const id = stream.headers["mcp-session-id"];
    await answered.passed;
    await bench.restart("crash", { logGate: {} });
    const headers = { ...json, "mcp-session-id": id };
    const request = { url: bench.url, method: "POST", headers, body: ping };
    const post = await openEventStream(request);
    expect(await post.response()).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });
}
