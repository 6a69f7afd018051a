/** `holdfast serve --upstream` in front of servers of both SDKs, as they are. */
import {
  answerOf,
  disposeAll,
  faultProxy,
  openSession,
  type RawSession,
  verifies,
} from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { startGateway } from "./gateway-process.ts";
import { type SdkHttpServer, sdkHttpServer, sdkVersions } from "./http-upstream-servers.ts";
import { stepsOf, textOf } from "./worker.ts";

afterEach(disposeAll);

const retries = ["--retry", "10ms"];

async function front(url: string, options: readonly string[] = []) {
  return startGateway(["serve", ...retries, ...options, "--upstream", url]);
}

async function beginWork(server: SdkHttpServer, session: RawSession) {
  const begun = server.begun.next();
  const stream = await session.call("work", {}, { progressToken: "p" });
  await stream.nextMessage(({ method }) => method === "notifications/progress");
  await begun;
  return stream;
}

const asker = { capabilities: { elicitation: {} } };

describe.each(sdkVersions)("in front of a server of SDK %s", (version) => {
  test(`${verifies("E-01", "X-06", "X-01")}progress, questions, announcements and cancellations pass`, async () => {
    const server = await sdkHttpServer(version, { keepsEvents: true });
    const gateway = await front(server.url);
    const session = await openSession(gateway.url, asker);
    expect(session.initializeResult.serverInfo).toMatchObject({ name: "sdk-server" });
    const standalone = await session.get();
    const first = await beginWork(server, session);

    // A question of the second call comes on its own stream, though the first is older.
    const asking = await session.call("ask");
    const question = await asking.nextMessage(({ method }) => method === "elicitation/create");
    const result = { action: "accept", content: { colour: "blue" } };
    await session.post({ jsonrpc: "2.0", id: question.id, result });
    expect(textOf(await asking.response())).toBe("accept blue");

    server.letGo();
    expect(textOf(await first.response())).toBe("worked 1");
    expect(stepsOf(first.messages)).toEqual([1, 2]);

    await server.announce();
    await standalone.nextMessage(({ method }) => method === "notifications/tools/list_changed");

    const cancelled = server.cancelled.next();
    const begun = server.begun.next();
    await session.call("work", {}, { id: "c" });
    await begun;
    await session.notify("notifications/cancelled", { requestId: "c" });
    await cancelled;
  });

  test(`${verifies("S-01", "R-01", "K-06")}a call that is cut twice on its way there arrives whole, once`, async () => {
    const server = await sdkHttpServer(version, { keepsEvents: true });
    const proxy = await faultProxy({ target: server.target });
    const gateway = await front(proxy.url("/mcp"));
    const session = await openSession(gateway.url);
    const stream = await beginWork(server, session);
    for (const manner of ["rst", "half-close"] as const) {
      const resumed = proxy.nextRequest();
      proxy.cutAll(manner);
      await resumed;
    }
    server.letGo();
    expect(textOf(await stream.response())).toBe("worked 1");
    expect(stepsOf(stream.messages)).toEqual([1, 2]);
    expect(server.effects.count).toBe(1);
  });

  test(`${verifies("X-05", "K-02")}without events kept there, a cut call has an unknown outcome, soon`, async () => {
    const server = await sdkHttpServer(version, { keepsEvents: false });
    const proxy = await faultProxy({ target: server.target });
    const gateway = await front(proxy.url("/mcp"));
    const session = await openSession(gateway.url);
    const stream = await beginWork(server, session);
    proxy.cutAll("rst");
    const { error } = await stream.response();
    expect(error).toMatchObject({
      code: -32011,
      data: { type: "outcome-unknown", requestId: 1, method: "tools/call", name: "work" },
    });
    expect(server.effects.count).toBe(1);
    // The session is the same, here and there.
    const again = await beginWork(server, session);
    server.letGo();
    expect(textOf(await again.response())).toBe("worked 2");
    expect(server.sessions.size).toBe(1);
  });

  test(`${verifies("K-07", "X-05")}a session that is gone there is replaced; what ran is unknown`, async () => {
    const server = await sdkHttpServer(version, { keepsEvents: true });
    const proxy = await faultProxy({ target: server.target });
    const gateway = await front(proxy.url("/mcp"));
    const session = await openSession(gateway.url);
    const stream = await beginWork(server, session);
    server.forget();
    proxy.cutAll("rst");
    expect((await stream.response()).error).toMatchObject({
      code: -32011,
      data: { reason: "session-gone" },
    });
    const tools = await answerOf(await session.request("tools/list"));
    expect(tools.result?.tools).toHaveLength(2);
    expect(server.effects.count).toBe(1);
    expect(server.sessions.size).toBe(1);
  });

  test(`${verifies("E-01")}one that names no sessions serves, too`, async () => {
    const server = await sdkHttpServer(version, { keepsEvents: false, isSessionless: true });
    const gateway = await front(server.url);
    const session = await openSession(gateway.url);
    const tools = await answerOf(await session.request("tools/list"));
    expect(tools.result?.tools).toHaveLength(2);
    const stream = await beginWork(server, session);
    server.letGo();
    expect(textOf(await stream.response())).toBe("worked 1");
  });

  test(`${verifies("S-07", "X-05", "K-10")}kill -9 of the gateway, twice, in mid-call: the call goes on`, async () => {
    const server = await sdkHttpServer(version, { keepsEvents: true });
    const gateway = await front(server.url);
    const port = new URL(gateway.url).port;
    const session = await openSession(gateway.url);
    const stream = await beginWork(server, session);
    const cursor = stream.lastEventId ?? "";
    await gateway.kill();
    const argv = ["serve", ...retries, "--upstream", server.url, "--port", port];
    const second = await startGateway(argv, gateway.cwd);
    await openHeld(session, cursor);
    await second.kill();
    await startGateway(argv, gateway.cwd);
    const resumed = await openHeld(session, cursor);
    server.letGo();
    expect(textOf(await resumed.response())).toBe("worked 1");
    // Whole, with progress under the client's own token.
    expect(resumed.messages).toMatchObject([
      { method: "notifications/progress", params: { progressToken: "p", progress: 2 } },
      { id: 1 },
    ]);
    expect(server.effects.count).toBe(1);
    expect(server.sessions.size).toBe(1);
  });

  test(`${verifies("S-07", "X-05")}kill -9 of the gateway, and events kept nowhere: a typed outcome`, async () => {
    const server = await sdkHttpServer(version, { keepsEvents: false });
    const gateway = await front(server.url);
    const session = await openSession(gateway.url);
    const stream = await beginWork(server, session);
    await gateway.kill();
    const argv = ["serve", ...retries, "--upstream", server.url];
    await startGateway([...argv, "--port", new URL(gateway.url).port], gateway.cwd);
    const resumed = await session.get({ lastEventId: stream.lastEventId ?? "" });
    expect((await resumed.response()).error).toMatchObject({
      code: -32011,
      data: { type: "outcome-unknown", requestId: 1 },
    });
    expect(server.effects.count).toBe(1);
  });
});

/** Resume a stream of a call that goes on: it stays open. */
async function openHeld(session: RawSession, lastEventId: string) {
  const stream = await session.get({ lastEventId });
  expect(stream.status).toBe(200);
  return stream;
}
