/** Chapter: a session at rest has no server; the next message brings it back, and nothing shows. */
import { expect, test } from "vitest";
import { fakeClock } from "../fake-clock.ts";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import { expectAlive, expectRefusal, primed, sessionNotFound } from "./checks.ts";
import { note } from "./traffic.ts";

export function hibernationChapter(open: OpenBench): void {
  const quiet = { hibernateMs: 40 };

  test(`${verifies("S-02", "S-07", "E-02")}a quiet session hibernates; cursors go on when it is back`, async () => {
    const clock = fakeClock();
    const bench = await open({ clock, options: quiet });
    const session = await bench.session();
    const standalone = await session.get();
    session.upstream.say(note(1));
    await standalone.nextMessage();
    const lastEventId = standalone.lastEventId ?? "";
    standalone.destroy("rst");
    await expectAlive(session);
    clock.advance(1_000);
    await session.upstream.closed;
    const resumed = await session.get({ lastEventId });
    expect(resumed.status).toBe(200);
    const upstream = await bench.upstreams.of(session.tag);
    await upstream.notification("notifications/initialized");
    upstream.say(note(2));
    await resumed.nextMessage();
    expect(resumed.messages).toMatchObject([{ params: { data: { number: 2 } } }]);
    await expectAlive(session);
  });

  test(`${verifies("S-02", "X-06")}an answer from before the rest is not taken for another's`, async () => {
    const clock = fakeClock();
    const bench = await open({ clock, options: quiet });
    const session = await bench.session();
    const standalone = await session.get();
    session.upstream.say({ id: 1, method: "roots/list" });
    const first = await standalone.nextMessage();
    await session.post({ jsonrpc: "2.0", id: first.id, result: { roots: [] } });
    standalone.destroy("rst");
    await expectAlive(session);
    clock.advance(1_000);
    await session.upstream.closed;
    const again = await session.get({ lastEventId: standalone.lastEventId ?? "" });
    const upstream = await bench.upstreams.of(session.tag);
    await upstream.notification("notifications/initialized");
    upstream.say({ id: 1, method: "roots/list" });
    const second = await again.nextMessage();
    expect(second.id).not.toBe(first.id);
    await session.post({ jsonrpc: "2.0", id: first.id, result: { roots: ["old"] } });
    await expectAlive(session);
    expect(upstream.arrivals.filter(({ message }) => message.method === undefined)).toEqual([]);
  });

  test(`${verifies("S-02", "c024")}a running call keeps its server`, async () => {
    const clock = fakeClock();
    const bench = await open({ clock, options: quiet });
    const session = await bench.session();
    const other = await bench.session();
    const stream = await session.call("slow", {}, { id: 1 });
    await primed(stream);
    const call = await session.upstream.request("tools/call");
    clock.advance(100_000);
    await other.upstream.closed;
    expect(session.upstream.isClosed).toBe(false);
    call.answer({});
    expect((await stream.response(1)).result).toEqual({});
  });

  test(`${verifies("S-02", "S-04")}time in which no process ran does not count, steps of the clock neither`, async () => {
    const clock = fakeClock();
    const retention = { windowMs: 1_000, maxEvents: 1_000, maxBytes: 1_000_000 };
    const options = { retention, clientReconnectMs: 10, idleTtlMs: 400 };
    const bench = await open({ clock, options });
    const session = await bench.session();
    await bench.restart("close", { clock: fakeClock(Date.UTC(2040, 0, 1)) });
    await expectAlive(session);
    const later = fakeClock(Date.UTC(2020, 0, 1));
    await bench.restart("close", { clock: later });
    await expectAlive(session);
    const upstream = bench.upstreams.all.at(-1);
    later.advance(100_000);
    await upstream?.closed;
    await expectRefusal(await session.get(), sessionNotFound("expired"));
    await bench.restart("crash", { clock: later });
    later.advance(23 * 3_600_000);
    await expectRefusal(await session.get(), sessionNotFound("expired"));
  });

  // The sweep comes every few seconds of the machine's own time.
  test(`${verifies("S-03", "S-04")}whose client never came back after initialize expires, no other`, async () => {
    const clock = fakeClock();
    const bench = await open({ clock });
    const lost = await bench.session({ isInitializedSent: false });
    const used = await bench.session();
    const spoken = await bench.session({ isInitializedSent: false });
    await expectAlive(spoken);
    clock.advance(59_000);
    expect(lost.upstream.isClosed).toBe(false);
    // The log hears of a use up to a minute late, and waits for that too.
    clock.advance(62_000);
    await lost.upstream.closed;
    await expectRefusal(await lost.get(), sessionNotFound("expired"));
    await expectAlive(used);
    await expectAlive(spoken);
  });
}
