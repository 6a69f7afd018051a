/**
 * The silent gap: a client is away while more events pass than are kept. An unmodified SDK client
 * cannot read the refusal of its cursor; its call must end all the same, at once, and never as if
 * nothing had been lost.
 */
import {
  disposeAll,
  faultProxy,
  openEventStream,
  openSession,
  verifies,
  within,
} from "@holdfast/testkit";
import { afterAll, describe, expect, test } from "vitest";
import { type LogMessage, type SdkClient, sdkClients, startWork } from "./sdk-client.ts";
import { callIn, range, serveWorker, stepsOf, type WorkerGateway } from "./worker.ts";

afterAll(disposeAll);

const maxEvents = 100;
const retention = ["--max-events", String(maxEvents), "--retry", "50ms", "--log", "memory:"];

describe.concurrent("300 events pass while the client is away, 100 are kept", () => {
  test(`${verifies("R-03", "R-04", "W-03")}by hand: 410 says how many; the rest and the result have no hole`, async () => {
    const gateway = await serveWorker(retention);
    const session = await openSession(gateway.url);
    const work = await session.call("work", { name: "hand" }, { progressToken: 1 });
    await work.nextMessage();
    const cursor = work.lastEventId ?? "";
    work.destroy("rst");
    const advance = { name: "hand", progress: 300, done: true };
    await callIn(gateway.url, session.sessionId, "advance", advance);
    const refused = await session.get({ lastEventId: cursor });
    expect(refused.status).toBe(410);
    const { error } = JSON.parse(await refused.text());
    expect(error).toMatchObject({
      code: -32010,
      data: { type: "resume-window-exceeded", requested: cursor, retention: { maxEvents } },
    });
    const rest = await session.get({ lastEventId: error.data.oldestEventId });
    await rest.response();
    // One was seen, `lostEvents` are gone, and from there on none is missing.
    expect(stepsOf(rest.messages)).toEqual(range(error.data.lostEvents + 2, 301));
    expect(error.data.lostEvents).toBeGreaterThanOrEqual(300 - maxEvents);
    expect(rest.messages.at(-1)?.result).toMatchObject({ content: [{ text: "hand done" }] });
    expect(gateway.effects("hand")).toBe(1);
  });

  test.each(sdkClients)(
    `${verifies("R-09", "W-03")}SDK %s: it is told of the gap, then gets the rest and the result`,
    async (_sdk, connect) => {
      const gateway = await serveWorker(retention);
      const proxy = await faultProxy({ target: gateway.target });
      let steps: readonly number[] = [];
      const stepsAtGap: number[] = [];
      const onLog = () => void stepsAtGap.push(...steps);
      const client = await connect(proxy.url("/mcp"), { onLog });
      const work = await startWork(client, "call");
      steps = work.steps;

      proxy.cutAll("rst");
      proxy.blackhole(true);
      const advance = { name: "call", progress: 300, done: true };
      await callIn(gateway.url, client.sessionId(), "advance", advance);
      proxy.heal();

      expect(await within(work.result, "the pending call")).toBe("call done");
      const [gap, ...others] = client.logged.filter(isGap);
      expect(others).toEqual([]);
      const { lostEvents } = gapData(gap);
      expect(lostEvents).toBeGreaterThanOrEqual(300 - maxEvents);
      expect(stepsAtGap).toEqual([1]);
      expect(work.steps).toEqual([1, ...range(lostEvents + 2, 301)]);
      expect(statusesOfResumes(client)).toContain(410);
      expect(gateway.effects("call")).toBe(1);
      expect(await client.call("echo", { text: "still here" })).toBe("still here");
    },
  );
});

describe.concurrent("the window passes while the client is away", () => {
  const window = ["--window", "2s", "--client-reconnect", "1s", "--idle-ttl", "3s"];
  const options = [...window, "--retry", "50ms", "--heartbeat", "500ms", "--log", "memory:"];

  test.each(sdkClients)(
    `${verifies("R-09", "X-05")}SDK %s: a call whose result is gone ends at once, as unknown outcome`,
    async (_sdk, connect) => {
      const gateway = await serveWorker(options);
      const proxy = await faultProxy({ target: gateway.target });
      const client = await connect(proxy.url("/mcp"));
      const work = await startWork(client, "call");
      const failed = work.result.catch((error: unknown) => error);

      proxy.cutAll("rst");
      proxy.blackhole(true);
      await callIn(gateway.url, client.sessionId(), "advance", { name: "call", done: true });
      await windowPassed(gateway, client.sessionId());
      proxy.heal();

      expect(await within(failed, "the pending call")).toMatchObject({
        code: -32011,
        data: { type: "outcome-unknown", reason: "window-expired", method: "tools/call" },
      });
      const gaps = client.logged.filter(isGap);
      expect(gaps.map(gapData)).toMatchObject([{ lostEvents: 1 }]);
      expect(gateway.effects("call")).toBe(1);
      expect(await client.call("echo", { text: "still here" })).toBe("still here");
    },
  );
});

const isGap = ({ logger }: LogMessage) => logger === "holdfast";

function gapData(message: LogMessage | undefined): { readonly lostEvents: number } {
  expect(message).toMatchObject({ level: "warning", data: { type: "resume-window-exceeded" } });
  return message?.data as { readonly lostEvents: number };
}

function statusesOfResumes({ requests }: SdkClient): number[] {
  return requests.flatMap(({ lastEventId, status }) => (lastEventId === undefined ? [] : status));
}

/**
 * Wait twice the window by the gateway's own clock: eight heartbeats of a viewport. It also keeps
 * the session from being idle.
 */
async function windowPassed({ url }: WorkerGateway, sessionId: string): Promise<void> {
  const stream = await openEventStream({
    url,
    headers: { accept: "text/event-stream", "mcp-session-id": sessionId },
  });
  for (let i = 0; i < 8; i++) await stream.nextComment((text) => text.startsWith("at "));
  stream.destroy();
}
