/** Chapter: requests of the server to the client, across cuts and across upstreams. */
import { expect, test } from "vitest";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, primed } from "./checks.ts";

export function questionsChapter(open: OpenBench): void {
  answers(open);
  generations(open);
  withdrawals(open);
}

/** The texts that reached the upstream as answers. */
const answersAt = ({ upstream }: Pick<BenchSession, "upstream">) =>
  upstream.arrivals.filter(({ message }) => message.method === undefined).map(({ text }) => text);

function answers(open: OpenBench): void {
  test(`${verifies("X-06")}a question survives a cut, and is answered once, on any connection`, async () => {
    const bench = await open();
    const session = await bench.session();
    const stream = await session.call("asks", {}, { id: 1 });
    const cursor = await primed(stream);
    const call = await session.upstream.request("tools/call");
    stream.destroy("rst");
    await expectAlive(session);
    const params = { messages: [], maxTokens: 10 };
    session.upstream.say({ id: 41, method: "sampling/createMessage", params });

    // Replayed to each viewport that did not see it.
    let wireId: unknown;
    for (let i = 0; i < 2; i++) {
      const viewport = await session.get({ lastEventId: cursor });
      const question = await viewport.nextMessage();
      expect(question).toMatchObject({ method: "sampling/createMessage", params });
      expect(typeof question.id).toBe("string");
      wireId ??= question.id;
      expect(question.id).toBe(wireId);
      viewport.destroy("rst");
    }
    const answer = `{"result": {"n": 1.0}, "jsonrpc":"2.0", "id":${JSON.stringify(wireId)} }`;
    for (let i = 0; i < 3; i++) await expectEmpty(await session.post(answer), 202);
    await expectAlive(session);
    expect(answersAt(session)).toEqual(['{"result": {"n": 1.0}, "jsonrpc":"2.0", "id":41 }']);
    call.answer({});
    expect((await (await session.get({ lastEventId: cursor })).response(1)).result).toEqual({});
  });

  test(`${verifies("X-06")}ids of questions come back to the upstream as it wrote them`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const ids = ["1", '"1"', "9007199254740993", '"\\u0041"', "0", '""', "-1.5e1"];
    const wireIds: unknown[] = [];
    for (const id of ids) {
      session.upstream.emit(`{"jsonrpc":"2.0","id":${id},"method":"roots/list"}`);
      wireIds.push((await standalone.nextMessage()).id);
    }
    expect(new Set(wireIds).size).toBe(ids.length);
    const error = { code: -1, message: "User rejected" };
    for (const id of wireIds.toReversed()) {
      await expectEmpty(await session.post({ jsonrpc: "2.0", id, error }), 202);
    }
    const text = JSON.stringify(error);
    await expectAlive(session);
    expect(answersAt(session)).toEqual(
      ids.toReversed().map((id) => `{"jsonrpc":"2.0","id":${id},"error":${text}}`),
    );
  });

  test(`${verifies("X-06")}an answer to what was never asked, or in another session, goes nowhere`, async () => {
    const bench = await open();
    const session = await bench.session();
    const other = await bench.session();
    const standalone = await session.get();
    session.upstream.say({ id: 1, method: "roots/list" });
    const { id: wireId } = await standalone.nextMessage();
    const result = { roots: [] };
    for (const id of [1, "1", 99, `${wireId}0`]) {
      await expectEmpty(await session.post({ jsonrpc: "2.0", id, result }), 202);
    }
    await expectEmpty(await other.post({ jsonrpc: "2.0", id: wireId, result }), 202);
    await expectAlive(session);
    await expectAlive(other);
    expect(answersAt(session)).toEqual([]);
    expect(answersAt(other)).toEqual([]);
    await session.post({ jsonrpc: "2.0", id: wireId, result });
    await expectAlive(session);
    expect(answersAt(session)).toEqual(['{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}']);
  });

  test(`${verifies("X-06")}of answers that come at one instant the upstream hears one`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    for (let round = 0; round < 10; round++) {
      session.upstream.say({ id: round, method: "roots/list" });
      const { id } = await standalone.nextMessage();
      const posts = [1, 2, 3, 4].map((n) => session.post({ jsonrpc: "2.0", id, result: { n } }));
      for (const post of posts) await expectEmpty(await post, 202);
    }
    await expectAlive(session);
    expect(answersAt(session).map((text) => JSON.parse(text).id)).toEqual([
      ...Array.from({ length: 10 }, (_, round) => round),
    ]);
  });
}

function generations(open: OpenBench): void {
  test(`${verifies("X-06")}questions of two upstreams of one session are never confused`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    session.upstream.say({ id: 1, method: "roots/list" });
    const first = await standalone.nextMessage();
    session.upstream.die();
    const pinging = session.request("tools/list");
    const next = { upstream: await bench.upstreams.of(session.tag) };
    (await next.upstream.request("tools/list")).answer({});
    await (await pinging).body();
    next.upstream.say({ id: 1, method: "roots/list" });
    const second = await standalone.nextMessage(({ method }) => method === "roots/list");
    expect(second.id).not.toBe(first.id);

    await session.post({ jsonrpc: "2.0", id: first.id, result: { roots: ["for the dead"] } });
    await session.post({ jsonrpc: "2.0", id: second.id, result: { roots: [] } });
    await expectAlive(session);
    expect(answersAt(next)).toEqual(['{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}']);
    expect(answersAt(session)).toEqual([]);
  });
}

function withdrawals(open: OpenBench): void {
  test(`${verifies("X-06", "E-01")}a question that is taken back is named as it was asked`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const stream = await session.call("asks", {}, { id: 1 });
    const call = await session.upstream.request("tools/call");
    session.upstream.say({ id: 7, method: "elicitation/create", params: {} });
    const question = await stream.nextMessage(({ method }) => method === "elicitation/create");
    session.upstream.say({ method: "notifications/cancelled", params: { requestId: 7 } });
    const withdrawn = await stream.nextMessage();
    expect(withdrawn.params).toEqual({ requestId: question.id });
    // Too late: the upstream does not wait for it any more.
    await session.post({ jsonrpc: "2.0", id: question.id, result: {} });
    session.upstream.say({ method: "notifications/cancelled", params: { requestId: 99 } });
    await expectAlive(session);
    expect(answersAt(session)).toEqual([]);
    call.answer({});
    await stream.response(1);
    expect(stream.messages).toHaveLength(3);
    expect(standalone.messages).toEqual([]);
  });
}
