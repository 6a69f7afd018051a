/** What the host is answered when the server refuses, or answers with something odd [c017]. */
import type { ServerResponse } from "node:http";
import { disposeAll, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { startHost } from "./connect-host.ts";
import { json, scriptedUpstream } from "./connect-upstream.ts";

afterEach(disposeAll);

/** Gives up at once, so that what is tried again is answered, too. */
const soon = [
  ...["--reconnect-initial", "5ms", "--reconnect-max", "10ms"],
  ...["--reconnect-attempts", "2", "--reconnect-budget", "1s"],
];

const refuse = (status: number) => (response: ServerResponse) =>
  json(response, status, { error: "no" });
const html = (status: number) => (response: ServerResponse) => {
  response.writeHead(status, { "content-type": "text/html" }).end("<h1>Sorry</h1>");
};

const modes: readonly [string, (response: ServerResponse) => void, object][] = [
  ["404", refuse(404), { code: -32000, data: { class: "session-lost", notRun: true } }],
  ["400", refuse(400), { code: -32000, data: { class: "protocol", notRun: true, status: 400 } }],
  ["401", refuse(401), { code: -32000, data: { class: "unauthorized", notRun: true } }],
  ["403", refuse(403), { code: -32000, data: { class: "unauthorized", notRun: true } }],
  ["413", refuse(413), { code: -32000, data: { class: "too-large", notRun: true } }],
  ["429", refuse(429), { code: -32000, data: { class: "retry-later", notRun: true } }],
  ["500", refuse(500), { code: -32011, data: { reason: "unreachable" } }],
  ["502 with HTML", html(502), { code: -32011, data: { reason: "unreachable" } }],
  ["200 with HTML", html(200), { code: -32011, data: { reason: "stream-refused" } }],
  [
    "a stream that ends without an event",
    (response) => response.writeHead(200, { "content-type": "text/event-stream" }).end(),
    { code: -32011, data: { type: "outcome-unknown" } },
  ],
];

test.each(modes)(`${verifies("c017")}%s: one answer, which tells the class`, async (...mode) => {
  const [, answer, error] = mode;
  const upstream = await scriptedUpstream(({ message }, response) => {
    if (message?.method !== "tools/call") return false;
    answer(response);
    return true;
  });
  const host = await startHost(upstream.url, { options: soon });
  await host.initialize();
  const id = host.startTool("charge", { amount: 5 });
  expect((await host.answer(id)).error).toMatchObject(error);
  expect((await host.request("ping")).result).toEqual({});
  expect(host.answers(id)).toBe(1);
});

test(`${verifies("c017")}nobody listens: one answer, and it did not run`, async () => {
  const upstream = await scriptedUpstream(() => false);
  const host = await startHost(upstream.url, { options: soon });
  await host.initialize();
  await upstream.close();
  const id = host.startTool("charge", { amount: 5 });
  const { error } = await host.answer(id);
  expect(error).toMatchObject({ code: -32000, data: { class: "unreachable", notRun: true } });
  expect(error?.message).toMatch(/^tools\/call did not run: the server could not be reached/);
});

test(`${verifies("c017")}nobody listens at initialize: it is answered, too`, async () => {
  const upstream = await scriptedUpstream(() => false);
  await upstream.close();
  const host = await startHost(upstream.url, { options: soon });
  const { error } = await host.request("initialize", { protocolVersion: "2025-11-25" });
  expect(error?.data).toMatchObject({ class: "unreachable", notRun: true });
  const why = `${upstream.url} could not be reached: nothing listens there \\(ECONNREFUSED\\)`;
  expect(error?.message).toMatch(
    new RegExp(`^initialize did not run: .*${why}\\. Start the server`),
  );
  // In the log at the first attempt already.
  await host.process.line(new RegExp(`"hint":"Start the server.*${why}\\. It is tried again`));
});

test(`${verifies("c017")}a notification that fails is not answered`, async () => {
  const upstream = await scriptedUpstream(({ message }, response) => {
    if (message?.method !== "notifications/roots/list_changed") return false;
    return json(response, 400, { error: "no" });
  });
  const host = await startHost(upstream.url, { options: soon });
  await host.initialize();
  host.notify("notifications/roots/list_changed");
  await host.process.line(/a message of the host was not brought/);
  await host.request("ping");
  expect(host.messages().map(({ id }) => id)).toEqual([1, 2]);
});
