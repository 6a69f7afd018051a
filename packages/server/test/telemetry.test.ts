/** What the runtime tells of itself: exactly what was caused, nothing more. */
import { disposeAll, openSession, rawRequest, verifies } from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { openWatched, type Watched } from "./telemetry-face.ts";

afterEach(disposeAll);

const key = "key-of-16-chars!";
const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const note = { method: "notifications/message", params: { level: "info", data: 1 } };

/** What a scrape says more than one before. */
async function caused(watched: Watched, work: () => Promise<void>) {
  const before = await watched.scrape();
  await work();
  const after = await watched.scrape();
  const changes = Object.entries(after).map(
    ([name, value]) => [name, value - (before[name] ?? 0)] as const,
  );
  return Object.fromEntries(changes.filter(([, change]) => change !== 0));
}

describe("metrics", () => {
  test("a fresh runtime has every count at zero, so that the first is an increase", async () => {
    const { scrape, bench } = await openWatched();
    // A runtime opens its log with the first request, if nobody asked for it before.
    await rawRequest({ url: bench.url });
    const samples = await scrape();
    expect(samples).toMatchObject({
      holdfast_sessions: 0,
      'holdfast_resumes_total{outcome="gap"}': 0,
      'holdfast_unknown_outcomes_total{reason="upstream-exited"}': 0,
      'holdfast_events_evicted_total{cause="bytes"}': 0,
      holdfast_retention_breaches_total: 0,
      holdfast_retention_window_seconds: 1_800,
      holdfast_retention_horizon_seconds: 1_800,
      holdfast_retention_headroom_seconds: 1_800,
    });
  });

  test(`${verifies("W-06")}one call, cut and resumed: exactly these numbers`, async () => {
    const watched = await openWatched();
    const { bench } = watched;
    const session = await bench.session();
    const { tag } = session;
    await watched.marked("detached", ({ stream }) => stream === 1);
    const changes = await caused(watched, async () => {
      const stream = await session.call("charge");
      const call = await session.upstream.request("tools/call");
      session.upstream.say(note);
      await stream.nextMessage();
      const { lastEventId = "" } = stream;
      stream.destroy();
      await watched.marked("detached", ({ cause }) => cause === "disconnected");
      session.upstream.say(note);
      session.upstream.say(note);
      await watched.marked("appended", ({ position }) => position === 3);
      const resumed = await session.get({ lastEventId });
      call.answer({ content: [] });
      await resumed.response();
      await resumed.ended;
      await watched.marked("detached", ({ stream, cause }) => stream === 2 && cause === "finished");
      expect((await session.get({ lastEventId: resumed.lastEventId as string })).status).toBe(204);
    });
    expect(changes).toEqual({
      holdfast_calls_total: 1,
      holdfast_events_appended_total: 4,
      holdfast_append_seconds: 4,
      holdfast_bytes_appended_total: expect.any(Number),
      holdfast_viewports_attached_total: 2,
      'holdfast_viewports_detached_total{cause="disconnected"}': 1,
      'holdfast_viewports_detached_total{cause="finished"}': 1,
      'holdfast_resumes_total{outcome="clean"}': 1,
      'holdfast_resumes_total{outcome="complete"}': 1,
      holdfast_reconnect_latency_seconds: 1,
      holdfast_retention_headroom_seconds: expect.any(Number),
      holdfast_events_replayed_total: 2,
    });
    expect(watched.marks.every((mark) => mark.tag === tag)).toBe(true);
    // [C P-03]
    expect(JSON.stringify(watched.marks)).not.toContain(session.sessionId);
  });

  test(`${verifies("W-06", "W-04")}gaps, breaches, and how far back cursors are honoured`, async () => {
    const retention = { windowMs: 1_800_000, maxEvents: 3, maxBytes: 1_000_000 };
    const watched = await openWatched({ options: { retention } });
    const { bench, marked, scrape } = watched;
    const session = await bench.session();
    const stream = await session.get();
    for (let i = 0; i < 3; i++) session.upstream.say(note);
    const { id: lastEventId = "" } = await stream.nextEvent(({ data }) => data !== "");
    stream.destroy();
    await marked("detached", ({ stream }) => stream === 0);
    const changes = await caused(watched, async () => {
      for (let i = 0; i < 3; i++) session.upstream.say(note);
      await marked("appended", ({ position }) => position === 6);
      expect((await session.get({ lastEventId })).status).toBe(410);
      const again = await session.get({ lastEventId });
      await again.nextMessage((message) => JSON.stringify(message).includes("lostEvents"));
      expect((await session.get({ lastEventId: "nonsense" })).status).toBe(400);
    });
    expect(changes).toMatchObject({
      'holdfast_resumes_total{outcome="gap"}': 1,
      'holdfast_resumes_total{outcome="inband"}': 1,
      'holdfast_resumes_total{outcome="refused"}': 1,
      'holdfast_events_evicted_total{cause="count"}': 3,
      holdfast_retention_breaches_total: 3,
      holdfast_events_replayed_total: 3,
    });
    const samples = await scrape();
    expect(samples["holdfast_retention_horizon_seconds"]).toBeLessThan(60);
    expect(samples["holdfast_retention_headroom_seconds"]).toBeLessThan(60);
    expect(await marked("gap")).toMatchObject({ from: 1, to: 3, lostEvents: 2, isInBand: false });
  });

  test("keys, lost upstreams, endings", async () => {
    const watched = await openWatched({ options: { sharesKeys: true } });
    const { bench } = watched;
    const session = await bench.session();
    await watched.marked("detached");
    const keyed = (args: object) =>
      session.call("charge", args, { headers: { "idempotency-key": key } });
    const changes = await caused(watched, async () => {
      const first = await keyed({});
      const call = await session.upstream.request("tools/call");
      const second = await keyed({});
      expect((await keyed({ other: true })).status).toBe(422);
      call.answer({ content: [] });
      await first.response();
      await second.response();
      await (await keyed({})).response();
      const lost = await session.call("charge");
      await session.upstream.request("tools/call");
      session.upstream.die();
      await lost.response();
      const ended = await session.call("charge");
      await (await bench.upstreams.next()).request("tools/call");
      expect((await session.delete()).status).toBe(204);
      await ended.response();
      await ended.ended;
    });
    expect(changes).toMatchObject({
      holdfast_sessions: -1,
      'holdfast_sessions_ended_total{reason="deleted"}': 1,
      'holdfast_idempotent_hits_total{kind="attach"}': 1,
      'holdfast_idempotent_hits_total{kind="conflict"}': 1,
      'holdfast_idempotent_hits_total{kind="replay"}': 1,
      'holdfast_unknown_outcomes_total{reason="upstream-exited"}': 1,
      'holdfast_unknown_outcomes_total{reason="session-ended"}': 1,
      holdfast_calls_total: 5,
    });
    expect(changes).not.toHaveProperty("holdfast_calls_in_flight");
  });

  test("a store that fails is counted, and nothing else is lost by it", async () => {
    let failures = 0;
    const beforeCommit = async () => {
      if (failures-- > 0) throw new Error("the store is out of reach");
    };
    const watched = await openWatched({ logGate: { beforeCommit } });
    const session = await watched.bench.session();
    failures = 1;
    const changes = await caused(watched, async () => {
      expect((await session.call("charge")).status).toBe(503);
    });
    expect(changes).toEqual({
      holdfast_log_errors_total: 1,
      'holdfast_refusals_total{type="store-unavailable"}': 1,
    });
  });
});

describe("traces", () => {
  const traceparent = `00-${traceId}-${spanId}-01`;

  test("one span lives across a cut, continues the caller's trace, and is continued", async () => {
    const watched = await openWatched();
    const session = await watched.bench.session();
    const stream = await session.call("charge", {}, { meta: { traceparent, other: 1.5 } });
    const call = await session.upstream.request("tools/call");
    const { lastEventId = "" } = stream;
    stream.destroy();
    await watched.marked("detached", ({ cause }) => cause === "disconnected");
    const resumed = await session.get({ lastEventId });
    call.answer({ content: [] });
    await resumed.response();
    const span = watched.spans().find(({ name }) => name === "tools/call charge");
    const { spanId: ownId } = span?.spanContext() ?? {};
    expect(span?.spanContext().traceId).toBe(traceId);
    expect(span?.parentSpanContext?.spanId).toBe(spanId);
    expect(span?.events.map(({ name }) => name)).toEqual(["cut", "resume"]);
    expect(span?.attributes).toMatchObject({
      "mcp.method.name": "tools/call",
      "holdfast.session.tag": session.tag,
      "holdfast.outcome": "answered",
    });
    const meta = call.message.params?.["_meta"];
    expect(meta).toEqual({ traceparent: `00-${traceId}-${ownId}-01`, other: 1.5 });
  });

  test("a call that names no trace begins one", async () => {
    const { bench, spans } = await openWatched();
    const session = await bench.session();
    const stream = await session.request("tools/list");
    const call = await session.upstream.request("tools/list");
    call.answer({ tools: [] });
    await stream.response();
    const span = spans()
      .find(({ name }) => name === "tools/list")
      ?.spanContext();
    expect(call.message.params).toEqual({
      _meta: { traceparent: `00-${span?.traceId}-${span?.spanId}-01` },
    });
  });

  test(`${verifies("E-12")}without a tracer not a character changes`, async () => {
    const { bench } = await openWatched({}, false);
    const session = await bench.session();
    const params = `{"name":"x","n":1.50,"_meta":{ "traceparent" : "${traceparent}"}}`;
    for (const text of [params, '{"name" : "x"}']) {
      const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${text}}`;
      await session.post(body);
      const { text: arrived, id } = await session.upstream.request("tools/call");
      expect(arrived).toBe(body.replace('"id":7', `"id":${id}`));
    }
  });

  test("a call whose process is gone ends in a span of the next one", async () => {
    const watched = await openWatched();
    const { bench } = watched;
    const session = await bench.session();
    const stream = await session.call("charge");
    await session.upstream.request("tools/call");
    const { lastEventId = "" } = stream;
    await bench.restart("crash");
    const resumed = await session.get({ lastEventId });
    await resumed.response();
    const span = watched.spans().find(({ name }) => name === "tools/call charge");
    expect(span?.events.map(({ name }) => name)).toEqual(["adoption"]);
    expect(span?.attributes["holdfast.outcome"]).toBe("process-restarted");
    expect(span?.status.message).toContain("process-restarted");
  });
});

test("several sessions are told apart in marks, never in metrics", async () => {
  const { bench, marks, scrape } = await openWatched();
  const one = await bench.session();
  const other = await openSession(bench.url);
  expect(new Set(marks.map(({ tag }) => tag)).size).toBe(2);
  const samples = JSON.stringify(await scrape());
  for (const secret of [one.tag, one.sessionId, other.sessionId]) {
    expect(samples).not.toContain(secret);
  }
});
