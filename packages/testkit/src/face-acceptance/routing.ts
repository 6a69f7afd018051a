/** Chapter: on which stream a message of the upstream goes, and that it goes on no other. */
import { expect, test } from "vitest";
import type { EventStream, RpcMessage } from "../event-stream.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { primed, replayed, textsOf } from "./checks.ts";
import type { ArrivedRequest } from "./scripted-upstream.ts";

export function routingChapter(open: OpenBench): void {
  ownStreams(open);
  progress(open);
  sessionWide(open);
  unnamed(open);
}

const log = (data: unknown) => ({
  method: "notifications/message",
  params: { level: "info", data },
});

/** Calls in the order given, each accepted by the upstream before the next is made. */
async function begin(session: BenchSession, tokens: readonly (string | number | undefined)[]) {
  const streams: EventStream[] = [];
  const calls: ArrivedRequest[] = [];
  for (const progressToken of tokens) {
    streams.push(
      await session.call("tool", {}, progressToken === undefined ? {} : { progressToken }),
    );
    calls.push(await session.upstream.request("tools/call"));
  }
  return { streams, calls };
}

/** All calls answered, all streams read to their end: what each of them showed before its answer. */
async function shown(
  streams: readonly EventStream[],
  calls: readonly ArrivedRequest[],
): Promise<RpcMessage[][]> {
  for (const call of calls) call.answer({});
  await Promise.all(streams.map((stream) => stream.body()));
  return streams.map(({ messages }) => {
    expect(messages.at(-1)?.result).toEqual({});
    return messages.slice(0, -1);
  });
}

function ownStreams(open: OpenBench): void {
  test(`${verifies("E-01", "E-10")}each request has a stream of its own, that ends after its response`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { streams, calls } = await begin(session, [undefined, undefined, undefined]);
    const cursors = await Promise.all(streams.map(primed));
    expect(new Set(cursors.map((cursor) => cursor.split(".")[1])).size).toBe(3);
    for (const index of [2, 0, 1]) {
      calls[index]?.answer({ index });
      const stream = streams[index];
      expect(await stream?.response()).toMatchObject({ id: index + 1, result: { index } });
      expect(await stream?.rest()).toEqual([]);
      expect((await stream?.ended)?.how).toBe("end");
    }
    // [C E-10] "stays readable in the log after it was written to a socket"
    for (const [index, cursor] of cursors.entries()) {
      const text = `{"jsonrpc":"2.0","id":${index + 1},"result":{"index":${index}}}`;
      for (let again = 0; again < 2; again++)
        expect(await replayed(session, cursor)).toEqual([text]);
    }
  });
}

function progress(open: OpenBench): void {
  test(`${verifies("E-01", "X-02")}progress goes by its token, and carries the client's own`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    // The same token twice, and as another type: the upstream gets numbers of ours.
    const tokens = ["tok", "tok", 7, "7", "ä\u2028"];
    const { streams, calls } = await begin(session, tokens);
    for (const value of [1, 2]) for (const call of calls.toReversed()) call.progress(value);
    const seen = await shown(streams, calls);
    for (const [index, progressToken] of tokens.entries()) {
      expect(seen[index]).toEqual(
        [1, 2].map((value) => ({
          ...{ jsonrpc: "2.0", method: "notifications/progress" },
          params: { progressToken, progress: value },
        })),
      );
    }
    expect(standalone.messages).toEqual([]);
  });

  test(`${verifies("E-01")}progress of a call that is over goes nowhere`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const { streams, calls } = await begin(session, ["over", "running"]);
    calls[0]?.answer({});
    await streams[0]?.response();
    calls[0]?.progress(99);
    expect(await shown(streams.slice(1), calls.slice(1))).toEqual([[]]);
    session.upstream.say({ method: "notifications/tools/list_changed" });
    await standalone.nextMessage();
    expect(standalone.messages).toHaveLength(1);
  });
}

function sessionWide(open: OpenBench): void {
  test(`${verifies("E-01")}what concerns the session goes to the standalone stream`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const { streams, calls } = await begin(session, [undefined, undefined]);
    const messages = [
      { method: "notifications/tools/list_changed" },
      { method: "notifications/prompts/list_changed" },
      { method: "notifications/resources/list_changed" },
      { method: "notifications/resources/updated", params: { uri: "file:///a" } },
    ];
    for (const message of messages) session.upstream.say(message);
    for (const message of messages) {
      expect(await standalone.nextMessage()).toEqual({ jsonrpc: "2.0", ...message });
    }
    expect(await shown(streams, calls)).toEqual([[], []]);
  });
}

function unnamed(open: OpenBench): void {
  test(`${verifies("E-01")}log messages and requests go to the only call, the oldest, or the standalone`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const { upstream } = session;
    const ask = (id: string) => upstream.say({ id, method: "roots/list" });
    const say = (data: string) => upstream.say(log(data));

    say("nobody");
    ask("nobody?");
    const first = await begin(session, [undefined]);
    say("only");
    ask("only?");
    const second = await begin(session, [undefined]);
    say("oldest");
    ask("oldest?");
    const firstSeen = await shown(first.streams, first.calls);
    say("next");
    ask("next?");
    const secondSeen = await shown(second.streams, second.calls);
    say("nobody again");
    ask("nobody again?");

    const brief = (message: RpcMessage) => message.params?.["data"] ?? message.method;
    expect(firstSeen[0]?.map(brief)).toEqual(["only", "roots/list", "oldest", "roots/list"]);
    expect(secondSeen[0]?.map(brief)).toEqual(["next", "roots/list"]);
    for (let i = 0; i < 4; i++) await standalone.nextMessage();
    const rest = ["nobody", "roots/list", "nobody again", "roots/list"];
    expect(standalone.messages.map(brief)).toEqual(rest);
  });

  test(`${verifies("E-01")}an upstream that names the request is believed`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { streams, calls } = await begin(session, [undefined, undefined]);
    const text = JSON.stringify({ jsonrpc: "2.0", ...log("for the second") });
    session.upstream.emit(text, calls[1]?.id);
    await shown(streams, calls);
    expect(textsOf(streams[0] as EventStream)).toHaveLength(1);
    expect(textsOf(streams[1] as EventStream)[0]).toBe(text);
  });

  test(`${verifies("E-01")}an upstream that says it concerns the session is believed, too`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const { streams, calls } = await begin(session, [undefined, undefined]);
    calls[0]?.answer({});
    await streams[0]?.response();
    const text = (data: string) => JSON.stringify({ jsonrpc: "2.0", ...log(data) });
    session.upstream.emit(text("of the session"), null);
    // A call that is over takes nothing more, and no other call gets it.
    session.upstream.emit(text("of the past"), calls[0]?.id);
    for (const data of ["of the session", "of the past"]) {
      expect((await standalone.nextMessage()).params?.["data"]).toBe(data);
    }
    expect(await shown(streams.slice(1), calls.slice(1))).toEqual([[]]);
  });

  test(`${verifies("E-01")}what is no message of the protocol harms nothing`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { streams, calls } = await begin(session, [undefined]);
    const noise = ["", "hello", "{", "null", "[]", "7", '{"jsonrpc":"2.0"}', '{"id":1,"result":1}'];
    for (const text of noise) session.upstream.emit(text);
    session.upstream.say({ id: 4_711, result: "nobody asked" });
    session.upstream.say({ id: null, error: { code: -32700, message: "what?" } });
    expect(await shown(streams, calls)).toEqual([[]]);
  });
}
