/** Chapter: how sessions end, by DELETE, by rest, with their upstream; and what is told first. */
import { expect, test } from "vitest";
import type { EventStream } from "../event-stream.ts";
import { type FakeClock, fakeClock } from "../fake-clock.ts";
import { verifies } from "../verifies.ts";
import { signal } from "../wait-for.ts";
import type { Bench, BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, expectRefusal, primed, sessionNotFound } from "./checks.ts";

export function endingsChapter(open: OpenBench): void {
  deletions(open);
  refusedRestores(open);
  rests(open);
}

function deletions(open: OpenBench): void {
  test(`${verifies("D-01", "S-08")}DELETE tells every viewport, calls in flight first`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    const first = await session.call("charge", {}, { id: 7 });
    const second = await session.request("resources/read", { uri: "file:///a" }, { id: "7" });
    const cursor = await primed(await session.request("prompts/list", {}, { id: 8 }));
    const resumed = await session.get({ lastEventId: cursor });
    for (let i = 0; i < 3; i++) await session.upstream.request();

    await expectEmpty(await session.delete(), 204);
    await expectUnknownThenClose(first, { requestId: 7, method: "tools/call", name: "charge" });
    const read = { requestId: "7", method: "resources/read", name: "file:///a" };
    await expectUnknownThenClose(second, read);
    await expectUnknownThenClose(resumed, { requestId: 8, method: "prompts/list" });
    await expectClose(standalone, "deleted");
    await session.upstream.closed;
  });

  test(`${verifies("S-08")}of two DELETEs at the same instant one succeeds`, async () => {
    const bench = await open();
    for (let round = 0; round < 10; round++) {
      const session = await bench.session();
      const answers = await Promise.all([session.delete(), session.delete(), session.delete()]);
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      expect(statuses).toEqual([204, 404, 404]);
      for (const answer of answers) {
        if (answer.status === 404) await expectRefusal(answer, sessionNotFound("deleted"));
      }
    }
  });

  // Fails until a look-up waits for an end that is under way: it loads the session anew instead.
  test(`${verifies("S-04", "S-08", "D-01")}what comes while the end is being written finds no session`, async () => {
    const written = signal<void>("write of an end");
    const release = Promise.withResolvers<void>();
    const beforeCommit = async (ops: readonly { readonly op: string }[]) => {
      if (!ops.some(({ op }) => op === "end")) return;
      written.emit();
      await release.promise;
    };
    const bench = await open({ logGate: { beforeCommit } });
    const session = await bench.session();
    const other = await bench.session();
    const isWriting = written.next();
    const deleted = session.delete();
    await isWriting;
    const late = Promise.all([
      session.call("late"),
      session.notify("notifications/x"),
      session.get(),
      session.delete(),
    ]);
    // What needs no write goes on meanwhile; when it was answered, the others have come in.
    for (let i = 0; i < 3; i++) await expectEmpty(await other.notify("notifications/x"), 202);
    release.resolve();
    await expectEmpty(await deleted, 204);
    for (const answer of await late) await expectRefusal(answer, sessionNotFound("deleted"));
    expect(bench.upstreams.all).toHaveLength(2);
    expect(session.upstream.arrivals).toHaveLength(2);
  });

  test(`${verifies("D-01")}a call that is opened while its session ends waits for nothing`, async () => {
    const bench = await open();
    for (let round = 0; round < 20; round++) {
      const session = await bench.session();
      const [stream, deleted] = await Promise.all([session.call("tool"), session.delete()]);
      expect(deleted.status).toBe(204);
      if (stream.status === 200) {
        expect((await stream.response(1)).error?.code).toBe(-32011);
        await expectClose(stream, "deleted");
      } else {
        expect(stream.status).toBe(404);
        const { error } = (await stream.json()) as { error: { data: object } };
        expect(error.data).toMatchObject({ type: "session-not-found", notRun: true });
      }
    }
  });
}

async function expectUnknownThenClose(stream: EventStream, call: object): Promise<void> {
  const { error, id } = await stream.response();
  expect(error).toMatchObject({
    code: -32011,
    data: { type: "outcome-unknown", ...call, reason: "session-ended" },
  });
  expect(id).toBe(error?.data?.["requestId"]);
  expect(error?.data?.["startedAt"]).toBeDefined();
  await expectClose(stream, "deleted");
}

/** [C D-01] the last that a viewport shows, before its connection closes. */
async function expectClose(stream: EventStream, reason: string): Promise<void> {
  const { data } = await stream.nextEvent(({ event }) => event === "close");
  expect(JSON.parse(data)).toEqual({ reason });
  expect(await stream.rest()).toEqual([]);
  expect((await stream.ended).how).toBe("end");
}

function refusedRestores(open: OpenBench): void {
  test(`${verifies("D-01", "S-07")}a session that its new upstream refuses is ended, not half alive`, async () => {
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    session.upstream.die();
    bench.upstreams.respond = () => undefined;
    const stream = await session.call("tool");
    const upstream = await bench.upstreams.next();
    (await upstream.request("initialize")).fail({ code: -32603, message: "full" });
    expect(await stream.response(1)).toMatchObject({
      error: { code: -32011, data: { type: "outcome-unknown", reason: "session-ended" } },
    });
    await expectClose(stream, "ended");
    await expectClose(standalone, "ended");
    await expectRefusal(await session.get(), sessionNotFound("ended"));
    await upstream.closed;
  });
}

/** A window and a time to live that a hand-moved clock can pass. */
const resting = {
  retention: { windowMs: 1_000, maxEvents: 1_000, maxBytes: 1_000_000 },
  ...{ clientReconnectMs: 10, idleTtlMs: 40 },
};

function rests(open: OpenBench): void {
  /** Open what rests before and behind what is judged: when both are gone, it was looked at. */
  const around = async (
    judge: (bench: Bench, session: BenchSession, clock: FakeClock) => Promise<unknown>,
  ) => {
    const clock = fakeClock();
    const bench = await open({ options: resting, clock });
    const before = await bench.session();
    const session = await bench.session();
    const behind = await bench.session();
    await judge(bench, session, clock);
    await Promise.all([before.upstream.closed, behind.upstream.closed]);
    await expectRefusal(await before.get(), sessionNotFound("expired"));
    return session;
  };

  test(`${verifies("S-02", "S-04", "c024")}a session that rests for long enough expires`, async () => {
    const clock = fakeClock();
    const bench = await open({ options: resting, clock });
    const session = await bench.session();
    clock.advance(1_041);
    await session.upstream.closed;
    await expectRefusal(await session.get(), sessionNotFound("expired"));
    await expectRefusal(await session.delete(), sessionNotFound("expired"));
    await expectRefusal(await session.call("tool"), { ...sessionNotFound("expired"), id: 1 });
  });

  test(`${verifies("S-02", "c024")}a call in flight keeps its session, attended or not`, async () => {
    let cursor = "";
    const session = await around(async (_, one, clock) => {
      const stream = await one.call("slow");
      cursor = await primed(stream);
      await one.upstream.request("tools/call");
      stream.destroy("rst");
      // By now the cut was noticed: what keeps the session is the call alone.
      await expectAlive(one);
      await expectAlive(one);
      clock.advance(100_000);
    });
    expect((await session.get({ lastEventId: cursor })).status).toBe(200);
  });

  test(`${verifies("S-02", "c024")}an attached viewport keeps its session`, async () => {
    let standalone: EventStream | undefined;
    const session = await around(async (_, { get }, clock) => {
      standalone = await get();
      clock.advance(100_000);
    });
    session.upstream.say({ method: "notifications/tools/list_changed" });
    expect(await standalone?.nextMessage()).toMatchObject({
      method: "notifications/tools/list_changed",
    });
  });

  test(`${verifies("S-02")}the window of the newest event is waited for`, async () => {
    const session = await around(async (_, one, clock) => {
      clock.advance(900);
      // Nobody asked, nobody looks: only the event speaks for the session.
      one.upstream.say({ method: "notifications/tools/list_changed" });
      clock.advance(900);
    });
    await expectAlive(session);
  });

  // The client speaks while the window still holds the session; behind it only the rest counts.
  test(`${verifies("S-02")}a message of the client begins the rest anew`, async () => {
    const session = await around(async (_, one, clock) => {
      clock.advance(990);
      expect((await one.notify("notifications/roots/list_changed")).status).toBe(202);
      clock.advance(30);
    });
    await expectAlive(session);
  });

  test(`${verifies("S-02")}steps of the wall clock neither expire nor extend a session`, async () => {
    const session = await around(async (bench, one, clock) => {
      clock.stepWall(365 * 24 * 3_600_000);
      const passing = await bench.session();
      await expectAlive(one);
      clock.stepWall(-2 * 365 * 24 * 3_600_000);
      clock.advance(990);
      expect((await one.notify("notifications/roots/list_changed")).status).toBe(202);
      clock.advance(30);
      await passing.upstream.closed;
    });
    await expectAlive(session);
  });
}
