/** Chapter: events that are gone, and how a reader is told. */
import { expect, test } from "vitest";
import { type EventStream, messageOf, type RpcMessage } from "../event-stream.ts";
import { fakeClock } from "../fake-clock.ts";
import type { RawHeaders } from "../http-exchange.ts";
import { verifies } from "../verifies.ts";
import type { Bench, BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, expectRefusal, primed } from "./checks.ts";
import type { FaceOptions } from "./face.ts";
import { note, numbersIn, openCall, placeOf, range, sayNotes, settle } from "./traffic.ts";

const retention = { windowMs: 1_800_000, maxEvents: 100, maxBytes: 2 ** 26 };
const refused = { status: 410, code: -32010, type: "resume-window-exceeded", id: null };
const contract: RawHeaders = { "mcp-resume-contract": "1" };

export function gapsChapter(open: OpenBench): void {
  refusals(open);
  inBand(open);
  endsOfStreams(open);
}

function refusals(open: OpenBench): void {
  const name = "incident 2: 300 events pass while a client is away, and 100 are kept";
  test(`${verifies("R-03", "R-04", "W-03", "E-04")}${name}`, async () => {
    const bench = await open({ options: { retention } });
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    sayNotes(session.upstream, 1, 50);
    for (let i = 0; i < 50; i += 1) await stream.nextMessage();
    const cursor = stream.lastEventId as string;
    await leave(bench, stream);
    sayNotes(session.upstream, 51, 350);
    call.answer({ charged: 1 });

    const body = await expectRefusal(await session.get({ lastEventId: cursor }), {
      ...refused,
      data: { requested: cursor, lostEvents: 200, retention },
    });
    const { oldestEventId, headEventId } = body.error?.data ?? {};
    const resumed = await session.get({ lastEventId: String(oldestEventId) });
    expect((await resumed.response()).result).toEqual({ charged: 1 });
    expect(numbersIn(resumed.items)).toEqual(range(251, 350));
    await expectEmpty(await session.get({ lastEventId: String(headEventId) }), 204);
    await expectAlive(session);
  });

  test(`${verifies("R-03")}the refusal has this body, and no more`, async () => {
    const bench = await open({ options: { retention } });
    const { session, cursor } = await awayFor(bench, 105);
    const { stream, tag, incarnation } = placeOf(cursor);
    const response = await session.get({ lastEventId: cursor });
    const { error, ...rest } = (await response.json()) as RpcMessage;
    expect(rest).toEqual({ jsonrpc: "2.0", id: null });
    expect(error).toEqual({
      code: -32010,
      message: expect.stringContaining("5 events"),
      data: {
        type: "resume-window-exceeded",
        stream,
        requested: cursor,
        oldestEventId: `${tag}.${stream}.5.${incarnation}`,
        headEventId: `${tag}.${stream}.105.${incarnation}`,
        lostEvents: 5,
        retention,
      },
    });
    expect([response.status, response.headers["content-type"]]).toEqual([410, "application/json"]);
  });

  test(`${verifies("R-03")}what other streams lost refuses no cursor`, async () => {
    const bench = await open({ options: { retention } });
    const session = await bench.session();
    const quiet = await openCall(session);
    const quietCursor = await primed(quiet.stream);
    const standalone = await session.get();
    const standaloneCursor = await primed(standalone);
    const chatty = await openCall(session);
    await leave(bench, quiet.stream, standalone, chatty.stream);
    sayRelated(session, chatty.call.id, 1, 500);
    const resumed = await session.get({ lastEventId: quietCursor });
    expect(resumed.status).toBe(200);
    quiet.call.answer({ quiet: true });
    expect((await resumed.response()).result).toEqual({ quiet: true });
    expect((await session.get({ lastEventId: standaloneCursor })).status).toBe(200);
  });

  test(`${verifies("R-03", "R-04")}the border of what is kept is exact`, async () => {
    const bench = await open({ options: { retention, gapSignal: "status" } });
    const { session, cursor } = await awayFor(bench, 250);
    const { tag, stream, incarnation } = placeOf(cursor);
    const idOf = (position: number) => `${tag}.${stream}.${position}.${incarnation}`;
    for (const position of [0, 1, 149]) {
      const data = { lostEvents: 150 - position, oldestEventId: idOf(150) };
      const refusal = await session.get({ lastEventId: idOf(position) });
      await expectRefusal(refusal, { ...refused, data });
    }
    for (const position of [150, 151, 249]) {
      const resumed = await session.get({ lastEventId: idOf(position) });
      expect(resumed.status).toBe(200);
      for (let number = position + 1; number <= 250; number += 1) await resumed.nextMessage();
      expect(numbersIn(resumed.items)).toEqual(range(position + 1, 250));
    }
  });
}

function inBand(open: OpenBench): void {
  test(`${verifies("R-09")}auto: a cursor that is repeated within 60 s is served in-band`, async () => {
    const clock = fakeClock();
    const bench = await open({ options: { retention }, clock });
    const { session, cursor } = await awayFor(bench, 105);
    await expectRefusal(await session.get({ lastEventId: cursor }), refused);
    clock.advance(60_000);
    await expectInBand(await session.get({ lastEventId: cursor }), 5);
    // The repetition was one, too; another 60 s later it is none any more.
    clock.advance(60_000);
    await expectInBand(await session.get({ lastEventId: cursor }), 5);
    clock.advance(60_001);
    await expectRefusal(await session.get({ lastEventId: cursor }), refused);
  });

  test(`${verifies("R-09")}auto: another cursor, or another session's, is no repetition`, async () => {
    const bench = await open({ options: { retention } });
    const { session, cursor } = await awayFor(bench, 250);
    const { tag, stream, incarnation } = placeOf(cursor);
    for (const position of [0, 1, 2]) {
      const lastEventId = `${tag}.${stream}.${position}.${incarnation}`;
      await expectRefusal(await session.get({ lastEventId }), refused);
    }
    await expectInBand(await session.get({ lastEventId: cursor }), 150);
  });

  test(`${verifies("R-09")}status: never in-band; in-band: at once`, async () => {
    const status = await open({ options: { retention, gapSignal: "status" } });
    const away = await awayFor(status, 105);
    for (let again = 0; again < 3; again += 1) {
      await expectRefusal(await away.session.get({ lastEventId: away.cursor }), refused);
    }
    const inBand = await open({ options: { retention, gapSignal: "in-band" } });
    const { session, cursor } = await awayFor(inBand, 105);
    for (let again = 0; again < 3; again += 1) {
      await expectInBand(await session.get({ lastEventId: cursor }), 5);
    }
    // Only a 410 is ever served so.
    const foreign = await session.get({ lastEventId: away.cursor });
    expect(foreign.status).toBe(400);
    expect((await session.get({ lastEventId: "x" })).status).toBe(400);
  });

  test(`${verifies("R-09")}a client that knows the contract is always told by status`, async () => {
    for (const gapSignal of ["auto", "in-band", "status"] as const) {
      const bench = await open({ options: { retention, gapSignal } });
      const { session, cursor } = await awayFor(bench, 105);
      for (let again = 0; again < 3; again += 1) {
        const refusal = await session.get({ lastEventId: cursor, headers: contract });
        await expectRefusal(refusal, refused);
      }
    }
  });

  for (const version of ["2025-11-25", "2025-06-18"]) {
    test(`${verifies("R-09")}a cut right after the gap is told again (${version})`, async () => {
      const bench = await open({ options: { retention, gapSignal: "in-band" } });
      const { session, cursor } = await awayFor(bench, 300, { version });
      for (let again = 0; again < 3; again += 1) {
        const stream = await session.get({ lastEventId: cursor });
        const notice = await stream.nextEvent();
        expect(notice.id).toBeUndefined();
        expect(lostIn(messageOf(notice))).toBe(200);
        stream.destroy("rst");
      }
      await expectInBand(await session.get({ lastEventId: cursor }), 200);
    });
  }

  test(`${verifies("R-09", "R-01")}what comes after the gap goes on, with ids`, async () => {
    const bench = await open({ options: { retention, gapSignal: "in-band" } });
    const { session, call, cursor } = await awayFor(bench, 300);
    const stream = await session.get({ lastEventId: cursor });
    for (let i = 0; i < 101; i += 1) await stream.nextMessage();
    session.upstream.say(note(301));
    call.answer({ done: true });
    expect((await stream.response()).result).toEqual({ done: true });
    expect(numbersIn(stream.items)).toEqual(range(201, 301));
    const positions = stream.events.slice(1).map(({ id }) => placeOf(id).position);
    expect(positions).toEqual(range(200, 302));
    expect((await stream.ended).how).toBe("end");
  });
}

function endsOfStreams(open: OpenBench): void {
  const options: FaceOptions = {
    retention: { windowMs: 1_000, maxEvents: 100, maxBytes: 2 ** 26 },
    clientReconnectMs: 900,
    idleTtlMs: 1_900,
  };

  test(`${verifies("R-09", "R-04", "W-01")}a result that is gone ends its call as unknown`, async () => {
    const clock = fakeClock();
    const bench = await open({ options, clock });
    const session = await bench.session();
    const { stream, call } = await openCall(session, { id: "the call" });
    const cursor = await primed(stream);
    await leave(bench, stream);
    sayNotes(session.upstream, 1, 3);
    call.answer({ gone: true });
    await settle(bench);
    clock.advance(1_100);
    await untilGone(session, cursor);
    await expectRefusal(await session.get({ lastEventId: cursor }), {
      ...refused,
      data: { lostEvents: 4 },
    });
    const told = await session.get({ lastEventId: cursor });
    expect(told.status).toBe(200);
    expect(lostIn(await told.nextMessage())).toBe(4);
    const { error, id } = await told.response();
    expect(id).toBe("the call");
    expect(error).toMatchObject({
      code: -32011,
      data: {
        type: "outcome-unknown",
        requestId: "the call",
        method: "tools/call",
        name: "work",
        reason: "window-expired",
      },
    });
    expect((await told.ended).how).toBe("end");
    await expectEmpty(await session.get({ lastEventId: told.lastEventId as string }), 204);
  });

  test(`${verifies("R-04")}of a stream that is gone as a whole the head is kept`, async () => {
    const clock = fakeClock();
    const bench = await open({ options, clock });
    const session = await bench.session();
    const standalone = await session.get();
    const cursor = await primed(standalone);
    await leave(bench, standalone);
    sayNotes(session.upstream, 1, 3);
    await settle(bench);
    clock.advance(1_100);
    const body = await untilGone(session, cursor);
    const { oldestEventId, headEventId, lostEvents } = body.error?.data ?? {};
    expect([oldestEventId, lostEvents]).toEqual([headEventId, 3]);
    const resumed = await session.get({ lastEventId: String(headEventId) });
    expect(resumed.status).toBe(200);
    sayNotes(session.upstream, 4, 4);
    await resumed.nextMessage();
    expect(numbersIn(resumed.items)).toEqual([4]);
    expect(placeOf(resumed.lastEventId).position).toBe(4);
  });
}

/** A session with a running call that says `notes` while its reader, at the beginning, is away. */
async function awayFor(bench: Bench, notes: number, options: { readonly version?: string } = {}) {
  const session = await bench.session(options);
  const { stream, call } = await openCall(session);
  let cursor: string;
  if (options.version === "2025-06-18") {
    // No priming event: the first id is that of the first event.
    sayNotes(session.upstream, 1, 1);
    await stream.nextMessage();
    cursor = (stream.lastEventId as string).replace(/\.1\.(\w+)$/, ".0.$1");
    await leave(bench, stream);
    sayNotes(session.upstream, 2, notes);
  } else {
    cursor = await primed(stream);
    await leave(bench, stream);
    sayNotes(session.upstream, 1, notes);
  }
  return { session, call, cursor };
}

/** Cut these readers, and let the server notice. */
async function leave(bench: Bench, ...streams: readonly EventStream[]): Promise<void> {
  for (const stream of streams) stream.destroy("rst");
  await settle(bench);
}

function sayRelated(session: BenchSession, related: number, from: number, to: number): void {
  for (const number of range(from, to)) {
    session.upstream.emit(JSON.stringify({ jsonrpc: "2.0", ...note(number) }), related);
  }
}

/** First the gap, without an id; then everything that is kept. */
async function expectInBand(stream: EventStream, lostEvents: number): Promise<void> {
  expect(stream.status).toBe(200);
  const notice = await stream.nextEvent();
  expect(notice.id).toBeUndefined();
  expect(messageOf(notice)).toEqual({
    jsonrpc: "2.0",
    method: "notifications/message",
    params: {
      level: "warning",
      logger: "holdfast",
      data: {
        type: "resume-window-exceeded",
        stream: expect.any(Number),
        requested: expect.any(String),
        oldestEventId: expect.any(String),
        headEventId: expect.any(String),
        lostEvents,
        retention,
      },
    },
  });
  for (let i = 0; i < 100; i += 1) await stream.nextMessage();
  const shown = numbersIn(stream.items);
  expect(shown).toEqual(range(lostEvents + 1, lostEvents + 100));
}

function lostIn(message: RpcMessage | undefined): unknown {
  const data = message?.params?.["data"] as { readonly lostEvents?: unknown } | undefined;
  return data?.lostEvents;
}

/**
 * The window has passed by the test's clock; the log lets go in steps of its own, soon after. A
 * client that knows the contract asks until then: its refusals count for nobody else.
 *
 * @returns the refusal
 */
async function untilGone(session: BenchSession, lastEventId: string): Promise<RpcMessage> {
  for (;;) {
    const stream = await session.get({ lastEventId, headers: contract });
    if (stream.status === 410) return (await stream.json()) as RpcMessage;
    stream.destroy();
  }
}
