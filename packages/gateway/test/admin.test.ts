/** The admin port of a gateway: metrics, health, who is answered, and what it shows of sessions. */
import type { SessionAnswer, SessionsAnswer } from "@holdfast/dashboard/model";
import { answerOf, disposeAll, openSession, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { ask, samplesOf, serveAdmin } from "./admin-gateway.ts";
import { holdfast, scratchDirectory } from "./gateway-process.ts";
import { serverScript } from "./stdio-script.ts";

afterEach(disposeAll);

test(`${verifies("W-06", "P-03")}a scrape has exactly the numbers that the script caused`, async () => {
  const gateway = await serveAdmin(["--max-events", "3", "--window", "40m"]);
  const session = await openSession(gateway.url);
  const work = await session.call("work", { name: "a" }, { progressToken: 1 });
  await work.nextMessage();
  const { lastEventId = "" } = work;
  work.destroy();
  // Four more, of which the cap takes two: the one that was seen, and one that was not.
  await answerOf(await session.call("advance", { name: "a", progress: 4 }));
  expect((await session.get({ lastEventId })).status).toBe(410);
  const again = await session.get({ lastEventId });
  await again.nextMessage();
  await answerOf(await session.call("advance", { name: "a", done: true }));
  await again.response();
  await again.ended;
  expect((await session.get({ lastEventId: "x" })).status).toBe(400);
  expect((await session.delete()).status).toBe(204);

  const scrape = await ask(gateway, "/metrics");
  expect(scrape.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  const samples = samplesOf(scrape.text);
  expect(samples).toMatchObject({
    holdfast_sessions: 0,
    'holdfast_sessions_ended_total{reason="deleted"}': 1,
    'holdfast_sessions_ended_total{reason="expired"}': 0,
    holdfast_viewports: 0,
    holdfast_calls_in_flight: 0,
    'holdfast_resumes_total{outcome="clean"}': 0,
    'holdfast_resumes_total{outcome="gap"}': 1,
    'holdfast_resumes_total{outcome="inband"}': 1,
    'holdfast_resumes_total{outcome="refused"}': 1,
    'holdfast_resumes_total{outcome="complete"}': 0,
    holdfast_takeovers_total: 0,
    holdfast_reconnect_latency_seconds_count: 1,
    holdfast_retention_window_seconds: 2400,
    holdfast_retention_breaches_total: 2,
    // initialize, five of progress, three results
    holdfast_events_appended_total: 9,
    holdfast_append_seconds_count: 9,
    // three of progress, and the result comes later
    holdfast_events_replayed_total: 3,
    'holdfast_events_evicted_total{cause="count"}': 2,
    'holdfast_events_evicted_total{cause="bytes"}': 0,
    'holdfast_unknown_outcomes_total{reason="upstream-exited"}': 0,
    'holdfast_idempotent_hits_total{kind="attach"}': 0,
    holdfast_fenced_appends_total: 0,
    holdfast_adoptions_total: 0,
    holdfast_log_errors_total: 0,
  });
  expect(samples["holdfast_retention_headroom_seconds"]).toBeLessThan(60);
  expect(scrape.text).not.toContain(session.sessionId);
});

test("health is told to whoever asks, readiness turns red while the gateway drains", async () => {
  const gateway = await serveAdmin();
  const session = await openSession(gateway.url);
  await session.call("work", { name: "a" });
  expect(await ask(gateway, "/healthz")).toMatchObject({ status: 200, text: "alive\n" });
  expect((await ask(gateway, "/readyz")).json()).toMatchObject({ isReady: true });
  gateway.process.signal("SIGTERM");
  await gateway.process.line(/draining: 1 call/);
  const red = await ask(gateway, "/readyz");
  expect([red.status, red.json()]).toEqual([
    503,
    { isReady: false, isDraining: true, isLogReady: true },
  ]);
  expect((await ask(gateway, "/healthz")).status).toBe(200);
});

test(`${verifies("P-01")}Host and Origin are checked, and nothing of it is for other pages`, async () => {
  const gateway = await serveAdmin();
  const asked = async (headers: Record<string, string>, path = "/api/sessions") =>
    (await ask(gateway, path, { headers })).status;
  const { host } = new URL(gateway.admin);
  expect(await asked({})).toBe(200);
  expect(await asked({ host: "rebound.example" })).toBe(403);
  expect(await asked({ host: "rebound.example" }, "/metrics")).toBe(403);
  expect(await asked({ origin: "https://evil.example" })).toBe(403);
  expect(await asked({ origin: "null" })).toBe(403);
  // Another page of this very machine.
  expect(await asked({ origin: "http://127.0.0.1:1" })).toBe(403);
  expect(await asked({ origin: `http://${host}` })).toBe(200);
  const page = await ask(gateway, "/");
  expect(page.headers["content-security-policy"]).toContain("default-src 'self'");
  expect(page.headers).not.toHaveProperty("access-control-allow-origin");
  for (const path of ["/../package.json", "/%2e%2e/package.json", "/assets/..%2f..%2fx", "/x"]) {
    expect((await ask(gateway, path)).status).toBe(404);
  }
  expect((await ask(gateway, "/metrics", { method: "POST" })).status).toBe(405);
});

test("with a token, the API is for those who have it; metrics and health stay open", async () => {
  const token = "a-token-of-sixteen-and-more";
  const gateway = await serveAdmin([], { HOLDFAST_ADMIN_TOKEN: token });
  const asked = async (path: string, word?: string) => {
    const headers = word === undefined ? {} : { authorization: `Bearer ${word}` };
    return (await ask(gateway, path, { headers })).status;
  };
  for (const path of ["/api/sessions", "/api/overview", "/api/feed", "/api/nothing"]) {
    expect(await asked(path)).toBe(401);
    expect(await asked(path, `${token}x`)).toBe(401);
  }
  expect(await asked("/api/sessions", token)).toBe(200);
  for (const path of ["/", "/metrics", "/healthz", "/readyz"]) expect(await asked(path)).toBe(200);
});

test(`${verifies("P-03")}sessions are shown by their tags, bodies only where that was asked for`, async () => {
  const gateway = await serveAdmin();
  const session = await openSession(gateway.url, { clientInfo: { name: "me", version: "1" } });
  const work = await session.call("work", { name: "secret-argument" });
  const list = await ask(gateway, "/api/sessions");
  const { sessions } = list.json() as SessionsAnswer;
  expect(sessions).toMatchObject([
    { activity: "active", client: "me", calls: 1, viewports: 1, version: "2025-11-25" },
  ]);
  const [{ tag = "" } = {}] = sessions;
  for (const name of [tag, session.sessionId]) {
    const shown = await ask(gateway, `/api/sessions/${name}`);
    const answer = shown.json() as SessionAnswer;
    expect(answer.session.streams.map(({ stream }) => stream)).toEqual([2, 1, 0]);
    expect(answer.history.map(({ kind }) => kind)).toContain("begun");
    expect(`${list.text}${shown.text}`).not.toContain(session.sessionId);
    expect(shown.text).not.toContain("secret-argument");
  }
  await answerOf(await session.call("advance", { name: "secret-argument", done: true }));
  await work.response();
  const path = `/api/sessions/${tag}/streams/2/events?after=0`;
  const hidden = (await ask(gateway, path)).text;
  expect(hidden).toContain('"kind":"response"');
  expect(hidden).not.toContain("secret-argument");
  expect((await ask(gateway, "/api/sessions/nobody")).status).toBe(404);
  expect((await ask(gateway, `/api/sessions/${tag}`, { method: "DELETE" })).status).toBe(204);
  expect((await ask(gateway, `/api/sessions/${tag}`, { method: "DELETE" })).status).toBe(404);
  expect((await session.request("ping")).status).toBe(404);
  expect(gateway.process.stderr).not.toContain(session.sessionId);

  const open = await serveAdmin(["--show-bodies"]);
  const other = await openSession(open.url);
  await answerOf(await other.call("advance", { name: "nothing" }));
  const [shown] = ((await ask(open, "/api/sessions")).json() as SessionsAnswer).sessions;
  const events = await ask(open, `/api/sessions/${shown?.tag}/streams/2/events`);
  expect(events.text).toContain("nothing");
});

test("a session that only the log has is listed, shown and ended like any other", async () => {
  const first = await serveAdmin();
  const session = await openSession(first.url);
  await answerOf(await session.call("advance", { name: "nothing" }));
  await first.process.kill("SIGKILL");
  const gateway = await serveAdmin([], {}, first.directory);
  const { sessions } = (await ask(gateway, "/api/sessions")).json() as SessionsAnswer;
  expect(sessions).toMatchObject([{ activity: "resting", client: "raw-session" }]);
  const [{ tag = "" } = {}] = sessions;
  const { history } = (await ask(gateway, `/api/sessions/${tag}`)).json() as SessionAnswer;
  expect(history.filter(({ kind }) => kind === "started")).toHaveLength(2);
  expect((await ask(gateway, `/api/sessions/${tag}`, { method: "DELETE" })).status).toBe(204);
  expect(((await ask(gateway, "/api/sessions")).json() as SessionsAnswer).sessions).toEqual([]);
});

test("an admin port that was asked for and is in use refuses the start, with the way out", async () => {
  const first = await serveAdmin();
  const { port } = new URL(first.admin);
  const args = ["serve", "--port", "0", "--admin-port", port, ...serverScript("{}")];
  const refused = await holdfast(args, scratchDirectory());
  expect(await refused.exited).toMatchObject({ code: 1 });
  expect(refused.stderr).toMatch(
    new RegExp(`Port ${port} .*in use.*
.*--admin-port auto`),
  );
});
