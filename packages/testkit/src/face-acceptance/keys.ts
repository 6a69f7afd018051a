/** Chapter: idempotency keys. A call under a key runs once, and every repetition gets its answer. */
import { resumeCapabilityKey } from "@holdfast/contract";
import { expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, expectRefusal, replayed } from "./checks.ts";
import {
  as,
  authenticateByName,
  badKey,
  expectOutcomeUnknown,
  key,
  keyed,
  keyField,
  keyForms,
  keyHeader,
  listTools,
  reuse,
  runsOf,
} from "./keyed.ts";

export function keysChapter(open: OpenBench): void {
  attaching(open);
  forms(open);
  payloads(open);
  scopes(open);
  endings(open);
}

function attaching(open: OpenBench): void {
  test(`${verifies("X-03", "c021")}a repetition attaches to the running call, with a stream of its own`, async () => {
    const bench = await open();
    const session = await bench.session();
    const first = await keyed(session, "create", { id: 1, progressToken: "a" });
    const call = await session.upstream.request("tools/call");
    call.progress(1);
    await first.nextMessage();
    const second = await keyed(session, "create", { id: "1", progressToken: 7 });
    const third = await keyed(session, "create", { id: 3 });
    call.progress(2);
    call.answer({ made: 1 });

    await Promise.all([first.body(), second.body(), third.body()]);
    const progress = (progressToken: unknown, step: number) => ({
      ...{ jsonrpc: "2.0", method: "notifications/progress" },
      params: { progressToken, progress: step },
    });
    const answer = (id: unknown) => ({ jsonrpc: "2.0", id, result: { made: 1 } });
    expect(first.messages).toEqual([progress("a", 1), progress("a", 2), answer(1)]);
    expect(second.messages).toEqual([progress(7, 2), answer("1")]);
    expect(third.messages).toEqual([answer(3)]);
    expect(runsOf(bench.upstreams, "create")).toBe(1);
    // A stream like any other: it can be resumed from its beginning.
    const begin = second.events[0]?.id ?? "";
    expect(await replayed(session, begin)).toHaveLength(2);
  });

  test(`${verifies("X-03", "E-12", "c021")}what has ended is answered from the ledger, byte for byte`, async () => {
    const bench = await open();
    const session = await bench.session();
    const first = await keyed(session, "create", { id: 1 });
    const { id } = await session.upstream.request("tools/call");
    const result = '{"n":12345678901234567890, "s":"\\u00e9"}';
    session.upstream.emit(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
    await first.body();
    const again = await keyed(session, "create", { id: 2 });
    await again.body();
    const texts = again.events.filter(({ data }) => data !== "").map(({ data }) => data);
    expect(texts).toEqual([`{"jsonrpc":"2.0","id":2,"result":${result}}`]);
    expect(runsOf(bench.upstreams, "create")).toBe(1);
  });

  test(`${verifies("X-03")}an error of the server is an answer, and is kept`, async () => {
    const bench = await open();
    const session = await bench.session();
    const error = { code: -32602, message: "no such thing", data: { why: [1] } };
    const first = await keyed(session, "create", { id: 1 });
    (await session.upstream.request("tools/call")).fail(error);
    expect(await first.response()).toEqual({ jsonrpc: "2.0", id: 1, error });
    const again = await keyed(session, "create", { id: 2 });
    expect(await again.response()).toEqual({ jsonrpc: "2.0", id: 2, error });
    expect(runsOf(bench.upstreams, "create")).toBe(1);
  });

  test(`${verifies("X-03")}of 20 at the same instant one runs, and all are answered`, async () => {
    const bench = await open();
    const session = await bench.session();
    const ids = Array.from({ length: 20 }, (_, index) => index + 1);
    const posted = ids.map((id) => keyed(session, "create", { id }));
    const call = await session.upstream.request("tools/call");
    const streams = await Promise.all(posted);
    call.answer({ made: 1 });
    for (const [index, stream] of streams.entries()) {
      expect(await stream.response()).toEqual({
        jsonrpc: "2.0",
        id: ids[index],
        result: { made: 1 },
      });
      await stream.body();
    }
    await expectAlive(session);
    expect(runsOf(bench.upstreams, "create")).toBe(1);
  });

  test(`${verifies("X-04")}without a key each POST is a request of its own, whatever its id`, async () => {
    const bench = await open();
    const session = await bench.session();
    for (const made of [1, 2]) {
      const stream = await session.call("create", {}, { id: 1 });
      (await session.upstream.request("tools/call")).answer({ made });
      expect((await stream.response()).result).toEqual({ made });
    }
    expect(runsOf(bench.upstreams, "create")).toBe(2);
  });
}

function forms(open: OpenBench): void {
  test(`${verifies("X-03", "c021")}header and field of _meta mean the same key`, async () => {
    const bench = await open();
    const session = await bench.session();
    const first = await session.call("create", {}, { id: 1, ...keyForms.field(key) });
    (await session.upstream.request("tools/call")).answer({ made: 1 });
    await first.body();
    const both = { ...keyForms.header(key), ...keyForms.field(key) };
    for (const options of [keyForms.header(key), keyForms.field(key), both]) {
      const again = await session.call("create", {}, { id: 2, ...options });
      expect((await again.response()).result).toEqual({ made: 1 });
    }
    expect(runsOf(bench.upstreams, "create")).toBe(1);
  });

  test(`${verifies("X-03", "E-12")}the field is taken out on the way to the server, and nothing else`, async () => {
    const bench = await open();
    const session = await bench.session();
    const call = (meta: string) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t", "_meta":${meta}, "n":1e2}}`;
    const field = `"${keyField}":"k"`;
    const metas: readonly (readonly [sent: string, arrives: string])[] = [
      [`{${field}}`, "{}"],
      [`{"a":1,${field}, "b":2.0}`, '{"a":1,"b":2.0}'],
      [`{ ${field},"z" : 1}`, '{ "z" : 1}'],
    ];
    for (const [index, [sent, arrives]] of metas.entries()) {
      const stream = await session.post(call(sent).replace('"k"', `"k${index}"`));
      expect(stream.status).toBe(200);
      const arrived = await session.upstream.request("tools/call");
      expect(arrived.text).toBe(call(arrives).replace('"id":1', `"id":${arrived.id}`));
      arrived.answer({});
      await stream.body();
    }
    // A notification has no key, and loses nothing either.
    expect((await session.notify("notifications/x", { n: 1 })).status).toBe(202);
  });

  test(`${verifies("X-03", "D-04")}what is no key is refused, and nothing runs`, async () => {
    const bench = await open();
    const session = await bench.session();
    const call = (options: object) => session.call("create", {}, { id: 5, ...options });
    for (const wrong of ["", "a b", "ü", "k".repeat(256), "a\u007f"]) {
      await expectRefusal(await call(keyForms.field(wrong)), { ...badKey, id: 5 });
    }
    for (const wrong of ["a b", "k".repeat(256)]) {
      await expectRefusal(await call(keyForms.header(wrong)), { ...badKey, id: 5 });
    }
    for (const wrong of [1, null, {}, ["k"], true]) {
      await expectRefusal(await call({ meta: { [keyField]: wrong } }), { ...badKey, id: 5 });
    }
    const differing = { ...keyForms.header("one"), ...keyForms.field("other") };
    await expectRefusal(await call(differing), { ...badKey, id: 5 });
    await expectAlive(session);
    expect(runsOf(bench.upstreams, "create")).toBe(0);
    for (const right of ["k", "k".repeat(255), "!~"]) {
      const stream = await call(keyForms.header(right));
      (await session.upstream.request("tools/call")).answer({});
      expect((await stream.response()).result).toEqual({});
    }
  });

  test(`${verifies("X-03")}an array has no key`, async () => {
    const bench = await open();
    const session = await bench.session({ version: "2025-03-26" });
    const call = (id: number, params: object = {}) => ({
      ...{ jsonrpc: "2.0", id, method: "tools/call" },
      params: { name: "create", ...params },
    });
    const headers = { [keyHeader]: key };
    const withField = call(1, { _meta: { [keyField]: key } });
    await expectRefusal(await session.post([call(1), call(2)], { headers }), badKey);
    await expectRefusal(await session.post([call(1)], { headers }), badKey);
    await expectRefusal(await session.post([withField]), badKey);
    await expectRefusal(await session.post([call(2), withField]), badKey);
    await expectAlive(session);
    expect(runsOf(bench.upstreams, "create")).toBe(0);
  });
}

function payloads(open: OpenBench): void {
  const post = (session: BenchSession, body: string) =>
    session.post(body, { headers: { [keyHeader]: key } });

  test(`${verifies("X-03", "c021")}another payload under the key is refused, while it runs and after`, async () => {
    const bench = await open();
    const session = await bench.session();
    const first = await keyed(session, "create", { id: 1, args: { n: 1 } });
    const call = await session.upstream.request("tools/call");
    const refuseOthers = async () => {
      const others = [
        keyed(session, "create", { id: 9, args: { n: 2 } }),
        keyed(session, "create", { id: 9, args: { n: "1" } }),
        keyed(session, "create", { id: 9 }),
        keyed(session, "destroy", { id: 9, args: { n: 1 } }),
        session.request("ping", {}, { id: 9, headers: { [keyHeader]: key } }),
      ];
      for (const other of await Promise.all(others))
        await expectRefusal(other, { ...reuse, id: 9 });
    };
    await refuseOthers();
    call.answer({ made: 1 });
    await first.body();
    await refuseOthers();
    await expectAlive(session);
    expect(session.upstream.arrivals.map(({ message }) => message.method)).toEqual([
      ...["initialize", "notifications/initialized", "tools/call", "ping"],
    ]);
  });

  test(`${verifies("X-03")}payloads are compared as JSON values, without _meta`, async () => {
    const bench = await open();
    const session = await bench.session();
    const first = await post(
      session,
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":100,"b":"é"}}}',
    );
    (await session.upstream.request("tools/call")).answer({ made: 1 });
    await first.body();
    const same = [
      '{"id":"x","params":{"arguments":{"b":"\\u00e9", "a":1e2},"name":"t"},"method":"tools/call","jsonrpc":"2.0"}',
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":1,"x":[]},"name":"t","arguments":{"a":100.0,"b":"é"}}}',
    ];
    for (const body of same) {
      const again = await post(session, body);
      expect(again.status).toBe(200);
      expect((await again.response()).result).toEqual({ made: 1 });
    }
    const other =
      '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{"a":100.00000000000000001,"b":"é"}}}';
    await expectRefusal(await post(session, other), { ...reuse, id: 3 });
    await expectAlive(session);
    expect(runsOf(bench.upstreams, "t")).toBe(1);
  });
}

/** [C K-07] What the client is told: whether a key of one session counts in the next. */
function advertisedScope({ initializeResult }: BenchSession): unknown {
  const { experimental } = Object(initializeResult["capabilities"]);
  return experimental?.[resumeCapabilityKey]?.idempotency?.scope;
}

function scopes(open: OpenBench): void {
  test(`${verifies("X-03", "S-06", "c021")}keys belong to the principal: its sessions share them, no other's`, async () => {
    const bench = await open({ authenticate: authenticateByName });
    const one = await bench.session({ headers: as("ann") });
    const other = await bench.session({ headers: as("ann.refreshed") });
    const bob = await bench.session({ headers: as("bob") });
    expect(advertisedScope(one)).toBe("principal");
    const first = await keyed(one, "create", { id: 1, progressToken: "one" });
    const call = await one.upstream.request("tools/call");
    const second = await keyed(other, "create", { id: 2, progressToken: "other" });
    call.progress(5);
    call.answer({ made: 1 });
    await Promise.all([first.body(), second.body()]);
    expect(second.messages).toMatchObject([
      { params: { progressToken: "other", progress: 5 } },
      { id: 2, result: { made: 1 } },
    ]);
    // Of its own session, in all its parts.
    expect(second.lastEventId?.startsWith(other.tag)).toBe(true);
    const third = await keyed(bob, "create", { id: 3 });
    (await bob.upstream.request("tools/call")).answer({ made: 2 });
    expect((await third.response()).result).toEqual({ made: 2 });
    expect(runsOf(bench.upstreams, "create")).toBe(2);
  });

  test(`${verifies("X-03")}without principals they belong to the session`, async () => {
    const bench = await open();
    for (const made of [1, 2]) {
      const session = await bench.session();
      expect(advertisedScope(session)).toBe("session");
      const stream = await keyed(session, "create", { id: 1, key: "short" });
      (await session.upstream.request("tools/call")).answer({ made });
      expect((await stream.response()).result).toEqual({ made });
    }
  });

  test(`${verifies("X-03")}shared by all callers of a loopback endpoint, they have 16 characters`, async () => {
    const bench = await open({ options: { sharesKeys: true } });
    const one = await bench.session();
    const other = await bench.session();
    expect(advertisedScope(one)).toBe("shared");
    const short = await keyed(one, "create", { id: 1, key: "x".repeat(15) });
    await expectRefusal(short, { ...badKey, id: 1 });
    const first = await keyed(one, "create", { id: 1, key: "x".repeat(16) });
    (await one.upstream.request("tools/call")).answer({ made: 1 });
    await first.body();
    const again = await keyed(other, "create", { id: 2, key: "x".repeat(16) });
    expect((await again.response()).result).toEqual({ made: 1 });
  });

  test(`${verifies("X-03", "S-06")}with principals short keys do, and callers share none`, async () => {
    const bench = await open({ authenticate: authenticateByName, options: { sharesKeys: true } });
    for (const [name, made] of [["ann", 1] as const, ["bob", 2] as const]) {
      const session = await bench.session({ headers: as(name) });
      expect(advertisedScope(session)).toBe("principal");
      const stream = await keyed(session, "create", { id: 1, key: "k" });
      (await session.upstream.request("tools/call")).answer({ made });
      expect((await stream.response()).result).toEqual({ made });
    }
  });
}

function endings(open: OpenBench): void {
  test(`${verifies("X-03", "D-01")}when the session of the call is deleted, who attached from another is told`, async () => {
    const bench = await open({ authenticate: authenticateByName });
    listTools(bench.upstreams);
    const one = await bench.session({ headers: as("ann") });
    const other = await bench.session({ headers: as("ann") });
    await keyed(one, "create", { id: 1 });
    await one.upstream.request("tools/call");
    const attached = await keyed(other, "create", { id: 2 });
    await expectEmpty(await one.delete(), 204);
    const data = { requestId: 2, method: "tools/call", name: "create" };
    await expectOutcomeUnknown(attached, "session-ended", data);
    const again = await keyed(other, "create", { id: 3 });
    await expectOutcomeUnknown(again, "session-ended", { requestId: 3 });
    await expectAlive(other);
    expect(runsOf(bench.upstreams, "create")).toBe(1);
  });

  test(`${verifies("X-03")}the answer outlives the session of the call`, async () => {
    const bench = await open({ authenticate: authenticateByName });
    const one = await bench.session({ headers: as("ann") });
    const first = await keyed(one, "create", { id: 1 });
    (await one.upstream.request("tools/call")).answer({ made: 1 });
    await first.body();
    await expectEmpty(await one.delete(), 204);
    const other = await bench.session({ headers: as("ann") });
    const again = await keyed(other, "create", { id: 2 });
    expect((await again.response()).result).toEqual({ made: 1 });
  });

  test(`${verifies("X-03", "X-01")}the end of an attached session leaves the call alone`, async () => {
    const bench = await open({ authenticate: authenticateByName });
    const one = await bench.session({ headers: as("ann") });
    const other = await bench.session({ headers: as("ann") });
    const first = await keyed(one, "create", { id: 1 });
    const call = await one.upstream.request("tools/call");
    const attached = await keyed(other, "create", { id: 2 });
    await expectEmpty(await other.delete(), 204);
    await expectOutcomeUnknown(attached, "session-ended", { requestId: 2 });
    call.answer({ made: 1 });
    expect((await first.response()).result).toEqual({ made: 1 });
  });

  test(`${verifies("X-01", "X-03")}who cancels its repetition cancels the call of its session`, async () => {
    const bench = await open();
    listTools(bench.upstreams);
    const session = await bench.session();
    const first = await keyed(session, "create", { id: 1 });
    const call = await session.upstream.request("tools/call");
    const second = await keyed(session, "create", { id: 2 });
    const third = await keyed(session, "create", { id: 3 });
    await session.notify("notifications/cancelled", { requestId: 2 });
    const { message } = await session.upstream.notification("notifications/cancelled");
    expect(message.params).toEqual({ requestId: call.id });
    await Promise.all([first.body(), second.body()]);
    // [C X-01] "the stream of a cancelled request ends without a response"
    expect([...first.messages, ...second.messages]).toEqual([]);
    await expectOutcomeUnknown(third, "window-expired", { requestId: 3 });
    const again = await keyed(session, "create", { id: 4 });
    await expectOutcomeUnknown(again, "window-expired", { requestId: 4 });
    expect(runsOf(bench.upstreams, "create")).toBe(1);
  });

  test(`${verifies("X-01", "X-03")}from another session a cancellation only stops the waiting`, async () => {
    const bench = await open({ authenticate: authenticateByName });
    const one = await bench.session({ headers: as("ann") });
    const other = await bench.session({ headers: as("ann") });
    const first = await keyed(one, "create", { id: 1 });
    const call = await one.upstream.request("tools/call");
    const attached = await keyed(other, "create", { id: 2 });
    await other.notify("notifications/cancelled", { requestId: 2 });
    await attached.body();
    expect(attached.messages).toEqual([]);
    call.answer({ made: 1 });
    expect((await first.response()).result).toEqual({ made: 1 });
    await expectAlive(one);
    const methods = bench.upstreams.all.flatMap(({ arrivals }) =>
      arrivals.map((arrival) => arrival.message.method),
    );
    expect(methods).not.toContain("notifications/cancelled");
  });
}
