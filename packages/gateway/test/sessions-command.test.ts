/** `holdfast sessions`, as an operator types it. */
import type { SessionAnswer } from "@holdfast/dashboard/model";
import { answerOf, disposeAll, openSession, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { serveAdmin, sessionsCommand } from "./admin-gateway.ts";
import { holdfast, scratchDirectory } from "./gateway-process.ts";

afterEach(disposeAll);

test(`${verifies("P-03")}list, show and end: tables for people, JSON for programs`, async () => {
  const gateway = await serveAdmin();
  expect(await sessionsCommand(gateway, [])).toEqual({
    out: "There are no sessions.\n",
    err: "",
    code: 0,
  });
  const clientInfo = { name: "evil\u001b[2Jclient", version: "1" };
  const session = await openSession(gateway.url, { clientInfo });
  const work = await session.call("work", { name: "a" }, { progressToken: 1 });
  await work.nextMessage();
  const { lastEventId = "" } = work;
  work.destroy();
  const resumed = await session.get({ lastEventId });
  await answerOf(await session.call("advance", { name: "a", progress: 2, done: true }));
  await resumed.response();

  const list = await sessionsCommand(gateway, ["list"]);
  expect(list.out).toMatch(/^TAG +STATE +CALLS +VIEWPORTS +AGE +CLIENT/);
  expect(list.out).toMatch(/\n[0-9a-f]{16} {2}idle/);
  expect(list.out).not.toContain("\u001b");
  const tag = /\n([0-9a-f]{16}) /.exec(list.out)?.[1] ?? "";
  const rows = JSON.parse((await sessionsCommand(gateway, ["list", "--json"])).out);
  expect(rows).toMatchObject([{ tag, activity: "idle" }]);

  const { out } = await sessionsCommand(gateway, ["show", session.sessionId]);
  expect(out).toMatch(new RegExp(`^Session ${tag} {2}live`));
  // The viewport was cut and resumed; progress and result are there.
  const lane = out.split("\n").findIndex((line) => /^ +2 work/.test(line));
  expect(out.split("\n")[lane]).toMatch(/✂|▶/);
  expect(out.split("\n")[lane + 1]).toMatch(/4 events, answer/);
  expect(out).not.toContain("\u001b");
  const shown = JSON.parse((await sessionsCommand(gateway, ["show", tag, "--json"])).out);
  const kinds = (shown as SessionAnswer).history.map(({ kind }) => kind);
  expect(kinds).toContain("detached");

  expect((await sessionsCommand(gateway, ["end", tag])).out).toBe(`Session ${tag} is ended.\n`);
  const gone = await sessionsCommand(gateway, ["end", tag]);
  expect(gone).toMatchObject({ code: 1, err: expect.stringMatching(/no such session.*tag/) });
});

test("--watch goes on over a restart of the gateway, without a hole", async () => {
  const first = await serveAdmin(["--admin-port", "auto"]);
  const session = await openSession(first.url);
  const watching = await holdfast(["sessions", "--watch"], scratchDirectory(), {
    HOLDFAST_ADMIN_URL: first.admin,
  });
  await watching.line(/idle/);
  await answerOf(await session.call("advance", { name: "before" }));
  await watching.line(/stream 2: tools\/call advance/);
  await watching.line(/stream 2: answered/);
  const { port } = new URL(first.admin);
  const { port: mcpPort } = new URL(first.url);
  expect(await first.process.kill("SIGTERM")).toMatchObject({ code: 0 });
  const options = ["--admin-port", port, "--port", mcpPort];
  await serveAdmin(options, {}, first.directory);
  await answerOf(await session.call("advance", { name: "after" }));
  await watching.line(/stream 3: answered/);
  expect(watching.stdout).toMatch(/gateway +stopped\n.*gateway +started\n/);
  expect(watching.stdout).not.toContain("not known any more");
  watching.signal("SIGINT");
  expect(await watching.exited).toMatchObject({ code: 0 });
});

test("what does not work is said in two lines", async () => {
  const nobody = { admin: "http://127.0.0.1:1" };
  expect(await sessionsCommand(nobody, [])).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^holdfast: No admin port answers at .*\n.*--admin-url URL\n$/),
  });
  const gateway = await serveAdmin([], { HOLDFAST_ADMIN_TOKEN: "a-token-of-sixteen-and-more" });
  const without = await sessionsCommand(gateway, []);
  expect(without.err).toMatch(/wants a token.\n.*HOLDFAST_ADMIN_TOKEN/);
  const wrong = await sessionsCommand(gateway, ["--admin-token", "another"]);
  expect(wrong.err).toMatch(/does not take this token/);
});
