/** Chapter: coming back with a cursor, and which cursors are refused. */
import { encodeEventId } from "@holdfast/contract";
import { expect, test } from "vitest";
import { messageOf } from "../event-stream.ts";
import { rawRequest } from "../http-exchange.ts";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, expectRefusal, primed, sessionNotFound } from "./checks.ts";
import { numbersIn, openCall, placeOf, range, sayNotes, settle } from "./traffic.ts";

const malformed = { status: 400, code: -32000, type: "invalid-event-id", id: null };
const foreign = { status: 400, code: -32000, type: "foreign-event-id", id: null };
const refused = { status: 410, code: -32010, type: "resume-window-exceeded", id: null };

export function resumeChapter(open: OpenBench): void {
  honouredCursors(open);
  refusedCursors(open);
  withoutCursor(open);
}

function honouredCursors(open: OpenBench): void {
  test(`${verifies("R-01")}a cursor shows what comes after it on its stream, then live`, async () => {
    const bench = await open();
    const session = await bench.session();
    const first = await openCall(session);
    const cursor = await primed(first.stream);
    const other = await openCall(session);
    const otherCursor = await primed(other.stream);
    for (const { id } of [first.call, other.call]) {
      for (let number = 1; number <= 3; number += 1) sayOn(id, number);
    }
    const resumed = await session.get({ lastEventId: cursor });
    const otherResumed = await session.get({ lastEventId: otherCursor });
    for (const stream of [resumed, otherResumed]) {
      for (let i = 0; i < 3; i += 1) await stream.nextMessage();
    }
    sayOn(first.call.id, 4);
    sayOn(other.call.id, 5);
    first.call.answer({ first: true });
    other.call.answer({ other: true });
    expect((await resumed.response()).result).toEqual({ first: true });
    expect((await otherResumed.response()).result).toEqual({ other: true });
    expect(numbersIn(await resumed.rest())).toEqual([]);
    expect(numbersIn(resumed.items)).toEqual([1, 2, 3, 4]);
    expect(numbersIn(otherResumed.items)).toEqual([1, 2, 3, 5]);
    for (const stream of [resumed, otherResumed]) {
      const streams = stream.events.map(({ id }) => placeOf(id).stream);
      expect(new Set(streams).size).toBe(1);
    }

    function sayOn(related: number, number: number): void {
      const params = { level: "info", data: { number } };
      const message = { jsonrpc: "2.0", method: "notifications/message", params };
      session.upstream.emit(JSON.stringify(message), related);
    }
  });

  test(`${verifies("R-01", "c006")}every cursor of a stream is exact`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    sayNotes(session.upstream, 1, 300);
    call.answer({});
    await stream.response();
    const ids = stream.events.map(({ id }) => id as string);
    for (const [seen, lastEventId] of ids.slice(0, -1).entries()) {
      if (seen % 7 > 1) continue;
      const resumed = await session.get({ lastEventId });
      expect(numbersIn(await resumed.rest())).toEqual(range(seen + 1, 300));
    }
  });

  test(`${verifies("R-06")}a cursor at the end of a finished stream is answered 204`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    call.answer({});
    await stream.response();
    for (let again = 0; again < 2; again += 1) {
      await expectEmpty(await session.get({ lastEventId: stream.lastEventId as string }), 204);
    }
    const { lastEventId } = session.initializeStream;
    await expectEmpty(await session.get({ lastEventId: lastEventId as string }), 204);
  });

  test(`${verifies("R-01", "E-04", "c003")}a stream let go before its answer has it later`, async () => {
    const bench = await open({ options: { viewportMaxMs: 10 } });
    const session = await bench.session();
    const { stream, call } = await openCall(session, { progressToken: "p" });
    await stream.rest();
    call.progress(0.5);
    call.answer({ done: true });
    const messages: unknown[] = [];
    let lastEventId = stream.lastEventId as string;
    for (;;) {
      const resumed = await session.get({ lastEventId });
      if (resumed.status === 204) break;
      const rest = await resumed.rest();
      messages.push(...rest.map(messageOf).filter((message) => message !== undefined));
      lastEventId = resumed.lastEventId ?? lastEventId;
    }
    expect(messages).toMatchObject([{ params: { progress: 0.5 } }, { result: { done: true } }]);
    const errors = bench.logLines.filter(({ level }) => level === "error");
    expect(errors).toEqual([]);
  });
}

function refusedCursors(open: OpenBench): void {
  const texts = {
    empty: "",
    "no id at all": "does-not-exist",
    "too long": "1".repeat(9_000),
    "long digits": `0123456789abcdef.0.${"1".repeat(400)}.aaaaaaaa`,
    "a percent escape": "0123456789abcdef.0.1.aaaaaaaa%0d%0adata: x",
    quotes: '"0123456789abcdef.0.1.aaaaaaaa"',
    "not ASCII": "0123456789abcdef.0.1.aaaaaa\u00e9\u00ff",
    "a negative position": "0123456789abcdef.0.-1.aaaaaaaa",
    "a leading zero": "0123456789abcdef.0.01.aaaaaaaa",
    "a tab inside": "0123456789abcdef.0.1\t.aaaaaaaa",
    JSON: '{"type":"resume-window-exceeded"}',
  };
  test(`${verifies("R-05", "c006", "c057")}what is no event id is refused, and shows nothing`, async () => {
    const bench = await open();
    const session = await bench.session();
    sayNotes(session.upstream, 1, 3);
    for (const text of Object.values(texts)) {
      // Twice: a repeated one is served in-band only after a 410.
      await expectRefusal(await session.get({ lastEventId: text }), malformed);
      await expectRefusal(await session.get({ lastEventId: text }), malformed);
    }
    const logged = JSON.stringify(bench.logLines);
    expect(logged).not.toContain("does-not-exist");
    await expectAlive(session);
  });

  test(`${verifies("R-05", "E-02", "c006", "c011")}an id of another session is foreign, known or not`, async () => {
    const bench = await open();
    const [session, other] = [await bench.session(), await bench.session()];
    const { stream, call } = await openCall(other);
    call.answer({ secret: true });
    await stream.response();
    sayNotes(other.upstream, 1, 3);
    const standalone = await other.get();
    for (let i = 0; i < 3; i += 1) await standalone.nextMessage();
    const known = [stream.events[0]?.id, stream.lastEventId, standalone.lastEventId];
    const bodies = new Set<string>();
    const tags = [other.tag, "0123456789abcdef"];
    for (const lastEventId of [...known, ...tags.map((tag) => `${tag}.9.9.aaaaaaaa`)]) {
      for (let again = 0; again < 2; again += 1) {
        const refusal = await session.get({ lastEventId: lastEventId as string });
        await expectRefusal(refusal, foreign);
        bodies.add(await refusal.text());
      }
    }
    // Nothing tells whether the id is somebody's.
    expect(bodies.size).toBe(1);
    await other.delete();
    await expectRefusal(await session.get({ lastEventId: known[0] as string }), foreign);
    await expectAlive(session);
  });

  test(`${verifies("R-05", "E-02", "R-04")}ids that the log never gave are refused as lost`, async () => {
    const bench = await open({ options: { gapSignal: "status" } });
    const session = await bench.session();
    sayNotes(session.upstream, 1, 3);
    const standalone = await session.get();
    for (let i = 0; i < 3; i += 1) await standalone.nextMessage();
    const head = placeOf(standalone.lastEventId);
    const incarnation = head.incarnation === "aaaaaaaa" ? "bbbbbbbb" : "aaaaaaaa";
    const cases = [
      { requested: { ...head, position: 4 }, oldest: head, head },
      { requested: { ...head, position: 999_999_999_999_999 }, oldest: head, head },
      { requested: { ...head, incarnation }, oldest: head, head },
      { requested: { ...head, position: 2, incarnation }, oldest: { ...head, position: 2 }, head },
    ];
    for (const { requested, oldest, head: headPlace } of cases) {
      const lastEventId = encodeEventId(requested);
      const data = {
        stream: 0,
        requested: lastEventId,
        oldestEventId: encodeEventId(oldest),
        headEventId: encodeEventId(headPlace),
        lostEvents: null,
      };
      await expectRefusal(await session.get({ lastEventId }), { ...refused, data });
    }
    const unknown = encodeEventId({ ...head, stream: 77, position: 5 });
    const lost = { stream: 77, requested: unknown, lostEvents: null };
    const body = await expectRefusal(await session.get({ lastEventId: unknown }), {
      ...refused,
      data: lost,
    });
    // Also the ids that are offered for a stream that is gone as a whole are cursors.
    await expectEmpty(
      await session.get({ lastEventId: String(body.error?.data?.["oldestEventId"]) }),
      204,
    );
    await expectAlive(session);
  });

  test(`${verifies("R-03", "S-04", "c007")}lost events and a lost session are told apart`, async () => {
    const retention = { windowMs: 1_800_000, maxEvents: 5, maxBytes: 2 ** 26 };
    const bench = await open({ options: { retention } });
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    const cursor = await primed(stream);
    stream.destroy();
    sayNotes(session.upstream, 1, 10);
    const body = await expectRefusal(await session.get({ lastEventId: cursor }), refused);
    call.answer({ done: true });
    const oldestEventId = String(body.error?.data?.["oldestEventId"]);
    const resumed = await session.get({ lastEventId: oldestEventId });
    expect((await resumed.response()).result).toEqual({ done: true });
    expect(numbersIn(resumed.items)).toEqual(range(6, 10));
    await session.delete();
    await expectRefusal(await session.get({ lastEventId: cursor }), sessionNotFound("deleted"));
  });
}

function withoutCursor(open: OpenBench): void {
  test(`${verifies("R-07")}a GET without a cursor shows what no viewport has shown`, async () => {
    const bench = await open();
    const session = await bench.session();
    sayNotes(session.upstream, 1, 3);
    for (const [from, to] of [
      [1, 3],
      [4, 6],
      [7, 200],
    ] as const) {
      if (from > 1) sayNotes(session.upstream, from, to);
      const stream = await session.get();
      const first = placeOf(await primed(stream));
      expect(first.position).toBe(from - 1);
      for (let number = from; number <= to; number += 1) await stream.nextMessage();
      expect(numbersIn(stream.items)).toEqual(range(from, to));
      stream.destroy("rst");
      // A half-open socket swallows what is handed to it: the server is to notice first.
      await settle(bench);
    }
  });

  test(`${verifies("R-07")}a GET that takes no event stream is refused`, async () => {
    const bench = await open();
    const session = await bench.session();
    for (const accept of [undefined, "application/json", "text/html, text/event-stream;q=0"]) {
      const { status } = await rawRequest({
        url: bench.url,
        headers: { accept, "mcp-session-id": session.sessionId },
      });
      expect(status).toBe(406);
    }
    for (const accept of ["*/*", "text/*", "text/event-stream", "application/json, */*;q=0.1"]) {
      const stream = await session.get({ headers: { accept } });
      expect(stream.status).toBe(200);
    }
  });

  test(`${verifies("R-07", "R-09")}what it never saw and is gone is told first`, async () => {
    const retention = { windowMs: 1_800_000, maxEvents: 5, maxBytes: 2 ** 26 };
    for (const gapSignal of ["auto", "status", "in-band"] as const) {
      const bench = await open({ options: { retention, gapSignal } });
      const session = await bench.session();
      sayNotes(session.upstream, 1, 2);
      const first = await session.get();
      for (let i = 0; i < 2; i += 1) await first.nextMessage();
      first.destroy("rst");
      await settle(bench);
      sayNotes(session.upstream, 3, 20);
      const stream = await session.get({ headers: { "mcp-resume-contract": "1" } });
      expect(stream.status).toBe(200);
      const notice = await stream.nextEvent();
      expect(notice.id).toBeUndefined();
      expect(messageOf(notice)).toMatchObject({
        method: "notifications/message",
        params: {
          level: "warning",
          logger: "holdfast",
          data: { type: "resume-window-exceeded", stream: 0, lostEvents: 13, retention },
        },
      });
      for (let i = 0; i < 5; i += 1) await stream.nextMessage();
      expect(numbersIn(stream.items)).toEqual(range(16, 20));
    }
  });
}
