/** Chapter: readers that stop reading, and events that are large. */
import { expect, test } from "vitest";
import { openEventStream, type RpcMessage } from "../event-stream.ts";
import { fakeClock } from "../fake-clock.ts";
import { faultProxy } from "../fault-proxy.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { expectRefusal, primed, replayed } from "./checks.ts";
import { door, note, numbersIn, openCall, placeOf, range, settle } from "./traffic.ts";

const windowMs = 1_800_000;
const kibibyte = 1_024;
const mebibyte = 2 ** 20;

export function boundsChapter(open: OpenBench): void {
  readersThatStop(open);
  largeEvents(open);
}

function readersThatStop(open: OpenBench): void {
  test(`${verifies("E-09", "R-03", "c039")}a reader that never reads costs nobody anything`, async () => {
    const notes = 20_000;
    const retention = { windowMs, maxEvents: 5_000, maxBytes: 64 * mebibyte };
    const bench = await open({ options: { retention, heartbeatMs: 0 } });
    const [session, healthy] = [await bench.session(), await bench.session()];
    const stuck = await session.get();
    const cursor = await primed(stuck);
    stuck.pause();
    const padding = "x".repeat(2 * kibibyte);
    for (const number of range(1, notes)) {
      await session.upstream.emit(JSON.stringify({ jsonrpc: "2.0", ...note(number, padding) }));
      if (number % 500 > 0) continue;
      // Another session is served all the while, and so are other streams of this one.
      for (const one of [healthy, session]) {
        const { stream, call } = await openCall(one);
        call.answer({ at: number });
        expect((await stream.response()).result).toEqual({ at: number });
      }
    }
    stuck.resume();
    await stuck.rest();
    expect(stuck.events.filter(({ event }) => event === "close")).toEqual([]);
    const seen = numbersIn(stuck.items).length;
    expect(numbersIn(stuck.items)).toEqual(range(1, seen));
    const lastEventId = stuck.lastEventId ?? cursor;
    expect(placeOf(lastEventId).position).toBe(seen);
    // Its events waited in the log, and those that could not are told of, exactly.
    const body = await expectRefusal(await session.get({ lastEventId }), {
      status: 410,
      code: -32010,
      type: "resume-window-exceeded",
      data: { lostEvents: notes - retention.maxEvents - seen },
    });
    const resumed = await session.get({ lastEventId: String(body.error?.data?.["oldestEventId"]) });
    for (let left = retention.maxEvents; left > 0; left -= 1) await resumed.nextMessage();
    expect(numbersIn(resumed.items)).toEqual(range(notes - retention.maxEvents + 1, notes));
  });

  test(`${verifies("E-09", "E-08")}a reader that stops for a while gets everything in order`, async () => {
    const bench = await open({ options: { heartbeatMs: 0 } });
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    stream.pause();
    const padding = "x".repeat(2 * kibibyte);
    for (const number of range(1, 8_000)) {
      await session.upstream.emit(JSON.stringify({ jsonrpc: "2.0", ...note(number, padding) }));
    }
    call.answer({ done: true });
    await settle(bench);
    stream.resume();
    expect((await stream.response()).result).toEqual({ done: true });
    expect(numbersIn(stream.items)).toEqual(range(1, 8_000));
  });

  for (const chars of [16 * mebibyte, 40 * kibibyte]) {
    const count = Math.ceil((16 * mebibyte) / chars);
    const what = `${count} events of ${chars / kibibyte} KiB`;
    test(`${verifies("E-09")}a socket that does not drain is ended: ${what}`, async () => {
      const bench = await open({ options: { heartbeatMs: 50 } });
      const session = await bench.session();
      const { stream, call } = await openCall(session);
      const cursor = await primed(stream);
      stream.pause();
      for (const number of range(1, count)) session.upstream.say(note(number, "x".repeat(chars)));
      call.answer({ done: true });
      await bench.logged(({ facts }) => "end" in facts && facts.end === "stalled");
      stream.resume();
      await stream.rest();
      expect((await stream.ended).how).not.toBe("end");
      expect(stream.events.filter(({ event }) => event === "close")).toEqual([]);
      // Nothing is lost by it.
      const resumed = await session.get({ lastEventId: stream.lastEventId ?? cursor });
      expect((await resumed.response()).result).toEqual({ done: true });
      expect([...numbersIn(stream.items), ...numbersIn(resumed.items)]).toEqual(range(1, count));
    });
  }

  test(`${verifies("S-02", "E-09")}a client that is gone before its stream began leaves nothing`, async () => {
    for (const what of ["standalone", "call"] as const) {
      const passed = door();
      const held = door();
      let isHolding = false;
      const hold = () => {
        if (!isHolding) return undefined;
        isHolding = false;
        held.open();
        return passed.passed;
      };
      const clock = fakeClock();
      const bench = await open({
        clock,
        options: {
          retention: { windowMs: 60, maxEvents: 100, maxBytes: mebibyte },
          clientReconnectMs: 40,
          idleTtlMs: 100,
        },
        logGate: what === "call" ? { beforeCommit: hold } : { afterRead: hold },
      });
      const session = await bench.session();
      const proxy = await faultProxy({ target: bench.target });
      isHolding = true;
      const url = proxy.url("/mcp");
      const gone = openedElsewhere(session, url, what).catch(() => "gone");
      await held.passed;
      proxy.cutAll("rst");
      expect(await gone).toBe("gone");
      await settle(bench);
      passed.open();
      if (what === "call") (await session.upstream.request("tools/call")).answer({});
      await settle(bench);
      // Nobody is there: the session rests, and expires.
      clock.advance(200);
      await session.upstream.closed;
      const { reason } = await goneFor(session);
      expect(reason).toBe("expired");
    }
  });
}

function largeEvents(open: OpenBench): void {
  const sizes = {
    "63 KiB": 63 * kibibyte,
    "65 KiB": 65 * kibibyte,
    "1 MiB and a byte": mebibyte + 1,
    "8 MiB": 8 * mebibyte,
    "10 MiB": 10 * mebibyte,
  };
  for (const [name, chars] of Object.entries(sizes)) {
    test(`${verifies("E-07", "E-08", "c038")}a result of ${name} passes whole, live and replayed`, async () => {
      const retention = { windowMs, maxEvents: 100, maxBytes: 256 * mebibyte };
      const bench = await open({ options: { retention } });
      const session = await bench.session();
      const { stream, call } = await openCall(session);
      const cursor = await primed(stream);
      const text = oddText(chars);
      call.answer({ content: [{ type: "text", text }] });
      expect(textOf(await stream.response())).toBe(text);
      const [again] = await replayed(session, cursor);
      expect(textOf(JSON.parse(again as string) as RpcMessage)).toBe(text);
    });
  }

  test(`${verifies("R-01", "E-08", "c038")}a cut in the middle of a large event repeats it whole`, async () => {
    const bench = await open();
    const proxy = await faultProxy({ target: bench.target });
    const session = await bench.session({ url: proxy.url("/mcp") });
    const text = oddText(8 * mebibyte);
    const { stream, call } = await openCall(session);
    let lastEventId = await primed(stream);
    session.upstream.say(note(1));
    await stream.nextMessage();
    lastEventId = stream.lastEventId as string;
    stream.destroy("rst");
    await settle(bench);
    call.answer({ content: [{ type: "text", text }] });
    for (const manner of ["rst", "fin"] as const) {
      for (const afterBytes of [1_000, 100_000, 5_000_000]) {
        proxy.setRules({ afterBytes, manner });
        const cut = await session.get({ lastEventId });
        const rest = await cut.rest();
        expect((await cut.ended).how).not.toBe("end");
        // The half of an event is none.
        expect(rest.filter((item) => item.kind === "event" && item.data !== "")).toEqual([]);
        expect(cut.lastEventId ?? lastEventId).toBe(lastEventId);
      }
    }
    proxy.heal();
    const whole = await session.get({ lastEventId });
    expect(textOf(await whole.response())).toBe(text);
  });
}

/** Text with everything that a careless writer breaks, at every distance from every border. */
function oddText(chars: number): string {
  const odd = "a\u2028b\u2029c\u0085d\u0000e\rf\ng\r\nh\ufeffi\u{1f469}\u200d\u{1f680}\u000b\u001c";
  // A length that no power of two is a multiple of: borders fall on every character of it.
  const piece = odd.length % 2 === 0 ? `${odd}.` : odd;
  return piece
    .repeat(Math.ceil(chars / piece.length))
    .slice(0, chars - 1)
    .concat(".");
}

function textOf({ result }: RpcMessage): unknown {
  const [content] = (result?.["content"] ?? []) as { readonly text?: unknown }[];
  return content?.text;
}

/** The session's next stream, asked for on another way to the server. */
async function openedElsewhere(
  session: BenchSession,
  url: string,
  what: "standalone" | "call",
): Promise<unknown> {
  const headers = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-session-id": session.sessionId,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: {} });
  return what === "call"
    ? openEventStream({ url, method: "POST", headers, body })
    : openEventStream({ url, headers });
}

/** Why the session is not there. */
async function goneFor(session: BenchSession): Promise<{ readonly reason?: unknown }> {
  const answer = (await (await session.get()).json()) as RpcMessage;
  return answer.error?.data ?? {};
}
