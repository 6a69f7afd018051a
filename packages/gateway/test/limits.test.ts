import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import {
  answerOf,
  disposeAll,
  type EventStream,
  NoResponseError,
  onDispose,
  openSession,
  rawRequest,
  verifies,
  within,
} from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { serveOptionRows } from "../src/option-rows.ts";
import { scratchDirectory } from "./gateway-process.ts";
import { remoteServer } from "./remote-server.ts";
import { serve } from "./served.ts";
import { serverScript } from "./stdio-script.ts";

afterEach(disposeAll);

const echo = serverScript("{ echo: (params) => params }");
const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function expectRefusal(stream: EventStream, status: number, type: string): Promise<void> {
  expect(stream.status).toBe(status);
  expect((await answerOf(stream)).error?.data).toMatchObject({ type, notRun: true });
  if (status === 503 || status === 429) {
    expect(Number(stream.headers["retry-after"])).toBeGreaterThan(0);
  }
}

describe(`${verifies("P-02", "D-03")}options set the limits of the server`, () => {
  test("--max-body", async () => {
    const { url } = await serve(["--max-body", "1kb"], echo);
    const session = await openSession(url);
    const text = "x".repeat(1024);
    await expectRefusal(await session.request("echo", { text }), 413, "body-too-large");
    expect((await answerOf(await session.request("echo", { a: 1 }))).result).toEqual({ a: 1 });
  });

  test("--max-event", async () => {
    const { url } = await serve(["--max-event", "1kb"], echo);
    const session = await openSession(url);
    const answer = await answerOf(await session.request("echo", { text: "x".repeat(1024) }));
    expect(answer.error?.message).toContain("1024");
    expect((await answerOf(await session.request("echo", { a: 1 }))).result).toEqual({ a: 1 });
  });

  test("--max-sessions", async () => {
    const { url } = await serve(["--max-sessions", "1"], echo);
    const session = await openSession(url);
    await expect(openSession(url)).rejects.toThrow(/503.*overloaded/);
    await session.delete();
    await openSession(url);
  });

  test.each(["--max-calls", "--max-streams"])("%s", async (option) => {
    const server = await remoteServer();
    const { url } = await serve([option, "1"], server.command);
    const session = await openSession(url);
    const call = await session.request("slow", { n: 1 });
    await server.hasBegun(1);
    await expectRefusal(await session.request("slow", { n: 2 }), 429, "rate-limited");
    const other = await openSession(url);
    const free = await other.request("slow", { n: 3 });
    await server.hasBegun(2);
    server.release();
    expect((await call.response()).result).toEqual({ n: 1 });
    expect((await free.response()).result).toEqual({ n: 3 });
  });

  test("--max-viewports", async () => {
    const { url } = await serve(["--max-viewports", "1"], echo);
    const session = await openSession(url);
    await session.initializeStream.rest();
    const standalone = await session.get();
    expect(standalone.status).toBe(200);
    await expectRefusal(await session.request("echo"), 503, "overloaded");
  });

  test.each([
    ["--header-timeout", { head: "POST /mcp HTTP/1.1\r\nhost: localhost\r\n" }],
    ["--body-timeout", { method: "POST", headers: json, body: "0123456789", bodyBytesSent: 3 }],
  ])("%s", async (option, request) => {
    const { url } = await serve([option, "50ms"], echo);
    expect(await rawRequest({ url, ...request })).toMatchObject({ status: 408 });
  });

  test("--keep-alive", async () => {
    const { url } = await serve(["--keep-alive", "10ms"], echo);
    const kept = connect(Number(new URL(url).port), "127.0.0.1");
    onDispose(() => void kept.destroy());
    const gone = once(kept, "close");
    kept.resume().write("DELETE /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await within(gone, "the end of the idle connection");
  });
});

test(`${verifies("P-02", "D-03", "c060")}50 bodies that trickle in run nothing, and are in nobody's way`, async () => {
  const server = await remoteServer();
  const { url } = await serve(["--body-timeout", "1s"], server.command);
  const session = await openSession(url);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "slow", params: { n: 0 } });
  const headers = { ...json, "mcp-session-id": session.sessionId };
  const slow = Array.from({ length: 50 }, () =>
    rawRequest({ url, method: "POST", headers, body, bodyBytesSent: 10 }),
  );
  const call = await session.request("slow", { n: 1 });
  await server.hasBegun(1);
  server.release();
  expect((await call.response()).result).toEqual({ n: 1 });
  for (const { status } of await Promise.all(slow)) expect(status).toBe(408);
  expect(server.begun).toBe(1);
});

test.each(["memory:", "sqlite:"])(
  `${verifies("S-07")}--hibernate ends the child of a quiet session; a message brings it back: %s`,
  async (kind) => {
    const server = await remoteServer();
    const place = kind === "sqlite:" ? `${kind}${join(scratchDirectory(), "holdfast.db")}` : kind;
    const { url, log } = await serve(["--hibernate", "50ms", "--log", place], server.command);
    const session = await openSession(url);
    await log.line(/session hibernates/);
    await server.gone();
    const call = await session.request("slow", { n: 1 });
    await server.hasBegun(1);
    server.release();
    expect((await call.response()).result).toEqual({ n: 1 });
  },
);

test("the page of limits has each of them, with its default", () => {
  const page = readFileSync(new URL("../../../docs/limits.md", import.meta.url), "utf8");
  const limits = serveOptionRows.filter(({ group }) => group === "Limits:");
  expect(limits.length).toBeGreaterThan(0);
  for (const { name, fallback } of limits) {
    expect(page).toMatch(new RegExp(`^\\| \`--${name}\` +\\| ${fallback} +\\|`, "m"));
  }
});

test("a gateway that is stopped answers no more", async () => {
  const gateway = await serve([], echo);
  await gateway.stop();
  await expect(rawRequest({ url: gateway.url })).rejects.toThrow(NoResponseError);
});
