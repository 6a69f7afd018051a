/** Chapter: an upstream that dies; its calls end, its session goes on with another. */
import { expect, test } from "vitest";
import type { EventStream } from "../event-stream.ts";
import { verifies } from "../verifies.ts";
import type { Bench, BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, primed, replayed } from "./checks.ts";
import { respondToSetup } from "./scripted-upstream.ts";

export function upstreamLossChapter(open: OpenBench): void {
  deaths(open);
  restored(open);
}

function deaths(open: OpenBench): void {
  test(`${verifies("X-05", "c051")}each call of a dead upstream ends as unknown outcome, kept for the absent`, async () => {
    const bench = await open();
    const session = await bench.session();
    const charge = await session.call("charge", {}, { id: 7, progressToken: "p" });
    const read = await session.request("resources/read", { uri: "file:///a" }, { id: "7" });
    const list = await session.request("tools/list", undefined, { id: 9_007 });
    const cursor = await primed(list);
    list.destroy("rst");
    for (let i = 0; i < 3; i++) await session.upstream.request();
    session.upstream.die("was killed by SIGKILL");

    await expectUnknown(charge, { requestId: 7, method: "tools/call", name: "charge" });
    await expectUnknown(read, { requestId: "7", method: "resources/read", name: "file:///a" });
    const [text = ""] = await replayed(session, cursor);
    expect(JSON.parse(text)).toMatchObject({
      ...{ id: 9_007 },
      error: { code: -32011, data: { requestId: 9_007, method: "tools/list" } },
    });
    // Nothing is run again by itself.
    expect(bench.upstreams.all).toHaveLength(1);
    await expectAlive(session);
    expect(bench.upstreams.all).toHaveLength(2);
    const methods = bench.upstreams.all[1]?.arrivals.map(({ message }) => message.method);
    expect(methods).toEqual(["initialize", "notifications/initialized", "ping"]);
  });

  test(`${verifies("X-05")}what a dead upstream still says is not heard`, async () => {
    const bench = await open();
    const session = await bench.session();
    const stream = await session.call("t");
    const call = await session.upstream.request();
    session.upstream.die();
    call.answer({ late: true });
    session.upstream.say({ method: "notifications/tools/list_changed" });
    await expectUnknown(stream, { requestId: 1 });
    expect(stream.messages).toHaveLength(1);
    await expectAlive(session);
    const standalone = await session.get();
    const next = await bench.upstreams.of(session.tag);
    next.say({ method: "notifications/prompts/list_changed" });
    expect((await standalone.nextMessage()).method).toBe("notifications/prompts/list_changed");
  });

  test(`${verifies("X-05")}an answer that is no JSON-RPC ends its call, and nothing else`, async () => {
    const bench = await open();
    const session = await bench.session();
    const spoil: readonly ((id: number) => object)[] = [
      (id) => ({ id, result: {} }),
      (id) => ({ jsonrpc: "2.0", id }),
      (id) => ({ jsonrpc: "2.0", id, result: {}, error: { code: 1, message: "" } }),
      (id) => ({ jsonrpc: "2.0", id, error: "no" }),
    ];
    for (const [index, answer] of spoil.entries()) {
      const stream = await session.call("t", {}, { id: `call ${index}` });
      const { id } = await session.upstream.request("tools/call");
      session.upstream.emit(JSON.stringify(answer(id)));
      const { error } = await stream.response(`call ${index}`);
      expect(error).toMatchObject({ code: -32000, data: { type: "invalid-answer" } });
    }
    await expectAlive(session);
  });

  test(`${verifies("X-05")}an answer under our number as a string is that call's answer`, async () => {
    const bench = await open();
    const session = await bench.session();
    const stream = await session.call("t", {}, { id: 7 });
    const { id } = await session.upstream.request("tools/call");
    session.upstream.say({ id: String(id), result: { ok: true } });
    expect(await stream.response(7)).toEqual({ jsonrpc: "2.0", id: 7, result: { ok: true } });
  });

  test(`${verifies("X-05")}an upstream that cannot start again ends the call, and not the session`, async () => {
    const bench = await open();
    const session = await bench.session();
    session.upstream.die();
    bench.upstreams.startFailure = "out of memory";
    for (let i = 1; i <= 2; i++) {
      await expectUnknown(await session.call("t"), { requestId: i, method: "tools/call" });
    }
    bench.upstreams.startFailure = undefined;
    await expectAlive(session);
  });
}

async function expectUnknown(stream: EventStream, call: object): Promise<void> {
  const { error } = await stream.response();
  expect(error).toMatchObject({
    code: -32011,
    data: { type: "outcome-unknown", ...call, reason: "upstream-exited" },
  });
  await stream.body();
}

/** Set a session up, one request after the other, as a client would. */
async function setUp(session: BenchSession, requests: readonly (readonly [string, object])[]) {
  for (const [method, params] of requests) {
    const stream = await session.request(method, params);
    (await session.upstream.request(method)).answer({});
    await stream.body();
  }
}

/** A call that waits behind the setup of a fresh upstream. */
async function restore(bench: Bench, session: BenchSession) {
  const stream = await session.call("after", {}, { id: "after" });
  const upstream = await bench.upstreams.of(session.tag);
  return { stream, upstream };
}

function restored(open: OpenBench): void {
  test(`${verifies("S-07", "X-05", "c051")}a new upstream hears what the session was set up with, before anything else`, async () => {
    const bench = await open();
    const capabilities = { sampling: {}, roots: { listChanged: true } };
    const session = await bench.session({ capabilities });
    await setUp(session, [
      ["logging/setLevel", { level: "debug" }],
      ["resources/subscribe", { uri: "file:///a" }],
      ["resources/subscribe", { uri: "file:///b" }],
      ["logging/setLevel", { level: "warning" }],
      ["resources/unsubscribe", { uri: "file:///a" }],
      ["resources/subscribe", { uri: "__proto__" }],
    ]);
    const seen = new Set(session.upstream.arrivals.map(({ message }) => message.id));
    const standalone = await session.get();
    session.upstream.die();
    bench.upstreams.respond = (request, upstream) => {
      const isSetup = request.method !== "tools/call";
      return respondToSetup(request, upstream) ?? (isSetup ? { secret: true } : undefined);
    };
    const { stream, upstream } = await restore(bench, session);
    const call = await upstream.request("tools/call");
    expect(upstream.arrivals.map(({ message }) => [message.method, message.params])).toMatchObject([
      ["initialize", { protocolVersion: "2025-11-25", capabilities }],
      ["notifications/initialized", undefined],
      ["logging/setLevel", { level: "warning" }],
      ["resources/subscribe", { uri: "file:///b" }],
      ["resources/subscribe", { uri: "__proto__" }],
      ["tools/call", { name: "after" }],
    ]);
    // A number that the first upstream had is not given again.
    const numbers = upstream.arrivals.flatMap(({ message }) => message.id ?? []);
    expect(numbers.filter((number) => seen.has(number))).toEqual([]);
    call.answer({ ok: true });
    await stream.body();
    // [C S-07] the answers of the setup are nobody's.
    expect(stream.messages).toEqual([{ jsonrpc: "2.0", id: "after", result: { ok: true } }]);
    expect(standalone.messages).toEqual([]);
  });

  test(`${verifies("X-05")}an upstream that dies while it is set up is replaced for the next call`, async () => {
    const bench = await open();
    const session = await bench.session();
    session.upstream.die();
    bench.upstreams.respond = () => undefined;
    const { stream, upstream } = await restore(bench, session);
    await upstream.request("initialize");
    upstream.die();
    await expectUnknown(stream, { requestId: "after" });
    bench.upstreams.respond = respondToSetup;
    await expectAlive(session);
    expect(bench.upstreams.all).toHaveLength(3);
  });

  test(`${verifies("X-05", "X-06")}while a new upstream is set up, what is sent waits in its order`, async () => {
    const bench = await open();
    const session = await bench.session();
    session.upstream.die();
    bench.upstreams.respond = () => undefined;
    const { stream, upstream } = await restore(bench, session);
    const initialize = await upstream.request("initialize");
    await session.notify("notifications/x", { n: 1 });
    const second = await session.call("second", {}, { id: 2 });
    await session.notify("notifications/cancelled", { requestId: "after" });
    initialize.answer({ protocolVersion: "2025-11-25", capabilities: {} });
    const call = await upstream.take(({ params }) => params?.["name"] === "second");
    upstream.say({ id: call.message.id, result: {} });
    await second.response(2);
    await stream.body();
    expect(stream.messages).toEqual([]);
    const methods = upstream.arrivals.map(({ message }) => message.method);
    expect(methods.filter((method) => method !== "tools/call")).toEqual([
      ...["initialize", "notifications/initialized", "notifications/x", "notifications/cancelled"],
    ]);
  });
}
