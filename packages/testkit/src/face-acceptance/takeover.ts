/** Chapter: a stream has one reader, the newest; whoever read before is let go. */
import { expect, test } from "vitest";
import type { EventStream } from "../event-stream.ts";
import { faultProxy } from "../fault-proxy.ts";
import { seededRandom, testSeed } from "../seeded-random.ts";
import type { SseItem } from "../sse-reading.ts";
import { verifies } from "../verifies.ts";
import { within } from "../wait-for.ts";
import type { OpenBench } from "./bench.ts";
import { idsIn, note, numbersIn, openCall, range, sayNotes } from "./traffic.ts";

/** How long an old viewport may stay, as a test can tell: 1 s, and a slow machine. */
const takeoverMs = 5_000;

export function takeoverChapter(open: OpenBench): void {
  test(`${verifies("R-02", "c009")}the newest viewport takes the stream over`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    sayNotes(session.upstream, 1, 2);
    for (let i = 0; i < 2; i += 1) await stream.nextMessage();
    const lastEventId = stream.lastEventId as string;
    const taken = await session.get({ lastEventId });
    expect(taken.status).toBe(200);
    await expectLetGo(stream);
    sayNotes(session.upstream, 3, 4);
    call.answer({});
    await taken.response();
    expect(numbersIn(stream.items)).toEqual([1, 2]);
    expect(numbersIn(taken.items)).toEqual([3, 4]);
  });

  test(`${verifies("R-02", "c009")}20 takeovers at random moments lose and double nothing`, async () => {
    const bench = await open();
    const session = await bench.session();
    const random = seededRandom(testSeed("takeovers"));
    const seen: SseItem[] = [];
    let said = 0;
    let stream = await session.get();
    for (let takeovers = 0; takeovers < 20; takeovers += 1) {
      const delayMs = random.int(0, 50);
      const writing = setInterval(() => {
        said += 1;
        session.upstream.say(note(said));
      }, 1);
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      // The old reader reads on until it is let go: its cursor is what it had by then.
      const lastEventId = await cursorOf(stream);
      const next = await session.get({ lastEventId });
      clearInterval(writing);
      expect(next.status).toBe(200);
      await expectLetGo(stream);
      seen.push(...upTo(stream.items, lastEventId));
      stream = next;
    }
    session.upstream.say(note(said + 1));
    await stream.nextMessage((message) => JSON.stringify(message).includes(`:${said + 1}}`));
    seen.push(...stream.items);
    expect(numbersIn(seen)).toEqual(range(1, said + 1));
  });

  test(`${verifies("R-02", "S-01", "c009")}a reader behind a black hole is taken over, too`, async () => {
    const bench = await open();
    const proxy = await faultProxy({ target: bench.target });
    const session = await bench.session({ url: proxy.url("/mcp") });
    const seen: SseItem[] = [];
    let said = 0;
    let stream = await session.get();
    const ended: Promise<unknown>[] = [];
    for (let takeovers = 0; takeovers < 10; takeovers += 1) {
      sayNotes(session.upstream, said + 1, said + 5);
      said += 5;
      for (let i = 0; i < 5; i += 1) await stream.nextMessage();
      const lastEventId = stream.lastEventId as string;
      seen.push(...stream.items);
      proxy.blackhole(true, "open");
      // Swallowed on the way to the old one; the new one has it.
      said += 1;
      session.upstream.say(note(said));
      ended.push(stream.ended);
      stream = await session.get({ lastEventId });
      expect(stream.status).toBe(200);
      await stream.nextMessage();
    }
    seen.push(...stream.items);
    expect(numbersIn(seen)).toEqual(range(1, said));
    // What was swallowed on the way comes at last: each was let go, none read what came later.
    proxy.heal();
    await within(Promise.all(ended), "the end of the old viewports", takeoverMs);
  });

  test(`${verifies("R-02", "c009")}two GETs with one cursor at one instant: one is let go`, async () => {
    const bench = await open();
    const session = await bench.session();
    const { stream, call } = await openCall(session);
    sayNotes(session.upstream, 1, 3);
    const lastEventId = await cursorOf(stream);
    const both = await Promise.all([session.get({ lastEventId }), session.get({ lastEventId })]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    const loser = await within(
      Promise.race(both.map((one) => one.ended.then(() => one))),
      "the end of one of two viewports",
      takeoverMs,
    );
    const winner = both.find((one) => one !== loser) as EventStream;
    await expectLetGo(loser);
    sayNotes(session.upstream, 4, 6);
    call.answer({});
    await winner.response();
    const from = numbersIn(winner.items)[0] as number;
    expect(numbersIn(winner.items)).toEqual(range(from, 6));
    expect(numbersIn(loser.items)).not.toContain(4);
  });

  test(`${verifies("R-02")}readers of other streams stay`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const one = await openCall(session);
    const other = await openCall(session);
    const taken = await session.get({ lastEventId: await cursorOf(one.stream) });
    await expectLetGo(one.stream);
    one.call.answer({ one: true });
    other.call.answer({ other: true });
    expect((await taken.response()).result).toEqual({ one: true });
    expect((await other.stream.response()).result).toEqual({ other: true });
    session.upstream.say({ method: "notifications/tools/list_changed" });
    expect((await standalone.nextMessage()).method).toBe("notifications/tools/list_changed");
  });
}

/** [C R-02] "closed (with `retry:` 5 s, so that two live readers do not chase each other)" */
async function expectLetGo(stream: EventStream): Promise<void> {
  const end = await within(stream.ended, "the end of the old viewport", takeoverMs);
  expect(end.how).toBe("end");
  expect(stream.items.at(-1)).toEqual({ kind: "retry", retryMs: 5_000 });
  expect(stream.events.filter(({ event }) => event === "close")).toEqual([]);
}

async function cursorOf(stream: EventStream): Promise<string> {
  if (stream.lastEventId === undefined) await stream.nextEvent();
  return stream.lastEventId as string;
}

/** The items up to the one with this id. */
function upTo(items: readonly SseItem[], id: string): readonly SseItem[] {
  const at = items.findLastIndex((item) => idsIn([item])[0] === id);
  return items.slice(0, at + 1);
}
