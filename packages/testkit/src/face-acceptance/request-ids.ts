/** Chapter: ids of requests, equal ones, odd ones, and those of many clients at once. */
import { expect, test } from "vitest";
import type { EventStream } from "../event-stream.ts";
import { seededRandom, testSeed } from "../seeded-random.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { expectEmpty, primed, replayed, textsOf } from "./checks.ts";
import type { ArrivedRequest } from "./scripted-upstream.ts";

export function requestIdsChapter(open: OpenBench): void {
  equalIds(open);
  oddIds(open);
  manyClients(open);
}

function equalIds(open: OpenBench): void {
  test(`${verifies("X-02", "c014")}two calls with the same id each get their own answer`, async () => {
    const bench = await open();
    const session = await bench.session();
    const ids = [1, 1, "1", 1, "1"];
    const streams: EventStream[] = [];
    for (const [index, id] of ids.entries())
      streams.push(await session.call("t", { index }, { id }));
    const calls = [];
    for (const _ of ids) calls.push(await session.upstream.request("tools/call"));
    expect(new Set(calls.map(({ id }) => id)).size).toBe(ids.length);
    for (const call of calls.toReversed()) call.answer(call.message.params?.["arguments"]);
    for (const [index, stream] of streams.entries()) {
      const response = await stream.response();
      expect(response).toEqual({ jsonrpc: "2.0", id: ids[index], result: { index } });
      await stream.body();
      expect(stream.messages).toHaveLength(1);
    }
  });

  test(`${verifies("X-02", "X-04", "c014")}an id that is used again begins a new request and a new stream`, async () => {
    const bench = await open();
    const session = await bench.session();
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"charge"}}';
    const cursors: string[] = [];
    for (let run = 0; run < 3; run++) {
      const stream = await session.post(body);
      cursors.push(await primed(stream));
      (await session.upstream.request("tools/call")).answer({ run });
      expect((await stream.response(1)).result).toEqual({ run });
    }
    for (const [run, cursor] of cursors.entries()) {
      const text = `{"jsonrpc":"2.0","id":1,"result":{"run":${run}}}`;
      expect(await replayed(session, cursor)).toEqual([text]);
    }
    const runs = session.upstream.arrivals.filter(({ message }) => message.method === "tools/call");
    expect(runs).toHaveLength(3);
  });
}

function oddIds(open: OpenBench): void {
  const texts = [
    ...["9007199254740992", "9007199254740993", "123456789012345678901234567890", "-0", "0"],
    ...["1.5", "1e2", "1E+2", "0.1e1", "100", '""', '"1"', '"A"', '"\\u0041\\/"', '"\\u2028"'],
    ...['"\u2028"', '"__proto__"', '"null"', `"${"long".repeat(100)}"`, '"\\ud800"'],
  ];

  test(`${verifies("X-02", "E-12")}an id comes back as it was written`, async () => {
    const bench = await open();
    const session = await bench.session();
    const streams: EventStream[] = [];
    for (const id of texts) {
      streams.push(await session.post(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`));
    }
    const calls = [];
    for (const _ of texts) calls.push(await session.upstream.request("tools/list"));
    for (const call of calls.toReversed()) call.answer(call.id);
    for (const [index, stream] of streams.entries()) {
      await stream.body();
      expect(textsOf(stream)).toEqual([
        `{"jsonrpc":"2.0","id":${texts[index]},"result":${calls[index]?.id}}`,
      ]);
    }
  });

  test(`${verifies("X-01", "X-02")}large ids are told apart by a cancellation, equal spellings are not`, async () => {
    const bench = await open();
    const session = await bench.session();
    const post = (id: string) => session.post(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`);
    const pairs = [
      // [the newer one in flight, the one that is meant, how the cancellation spells it]
      ["9007199254740992", "9007199254740993", "9007199254740993"],
      ["9007199254740993", "9007199254740992", "9007199254740992"],
      ['"B"', '"A"', '"\\u0041"'],
      ["2", "1", "1.0"],
      ["1", '"1"', '"\\u0031"'],
    ] as const;
    for (const [other, meant, spelled] of pairs) {
      // The other is the newer one: taken for equal, it would be cancelled.
      const cancelled = await post(meant);
      const kept = await post(other);
      const call = await session.upstream.request("tools/list");
      const beside = await session.upstream.request("tools/list");
      const text = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${spelled}}}`;
      await expectEmpty(await session.post(text), 202);
      const { message } = await session.upstream.notification("notifications/cancelled");
      expect(message.params).toEqual({ requestId: call.id });
      await cancelled.body();
      expect(cancelled.messages).toEqual([]);
      beside.answer({});
      expect((await kept.response()).result).toEqual({});
    }
  });
}

const whoAsks = ({ message }: ArrivedRequest): number => {
  const { arguments: args } = message.params as { readonly arguments: { readonly who: number } };
  return args.who;
};

const clients = 20;
const rounds = 50;

function manyClients(open: OpenBench): void {
  test(`${verifies("X-02", "c013", "c011")}${clients} clients with one id at one instant get their own answers`, async () => {
    const random = seededRandom(testSeed("many clients"));
    const bench = await open();
    const sessions: BenchSession[] = [];
    for (let i = 0; i < clients; i++) sessions.push(await bench.session());
    for (let round = 0; round < rounds; round++) {
      const streams = await Promise.all(
        sessions.map(({ call }, who) => call("whoami", { who, round }, { id: 2 })),
      );
      const calls = await Promise.all(
        sessions.map(({ upstream }) => upstream.request("tools/call")),
      );
      for (const call of random.shuffle(calls)) call.answer(call.message.params?.["arguments"]);
      await Promise.all(streams.map((stream) => stream.body()));
      for (const [who, stream] of streams.entries()) {
        expect(stream.messages).toEqual([{ jsonrpc: "2.0", id: 2, result: { who, round } }]);
      }
    }
  });

  test(`${verifies("X-02", "c014")}${clients} calls of one session with one id at one instant, too`, async () => {
    const random = seededRandom(testSeed("many calls"));
    const bench = await open();
    const session = await bench.session();
    for (let round = 0; round < 10; round++) {
      const posts = Array.from({ length: clients }, (_, who) =>
        session.call("whoami", { who }, { id: 2, progressToken: 2 }),
      );
      const calls = [];
      for (const _ of posts) calls.push(await session.upstream.request("tools/call"));
      for (const call of random.shuffle(calls)) call.progress(whoAsks(call));
      for (const call of random.shuffle(calls)) call.answer(call.message.params?.["arguments"]);
      for (const [who, stream] of (await Promise.all(posts)).entries()) {
        await stream.body();
        expect(stream.messages).toMatchObject([
          { params: { progressToken: 2, progress: who } },
          { id: 2, result: { who } },
        ]);
        expect(stream.messages).toHaveLength(2);
      }
    }
  });
}
