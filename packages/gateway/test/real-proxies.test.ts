/**
 * Debian's HAProxy and nginx with an idle timeout of 2 s in front of `holdfast serve`, configured
 * as by somebody who knows nothing of event streams. Heartbeats off: every quiet stream is cut, and
 * resumed. Heartbeats on: none ever is.
 */
import { parseEventId } from "@holdfast/contract";
import {
  disposeAll,
  type EventStream,
  openSession,
  type RawSession,
  type RealProxyOptions,
  requireService,
  startHaproxy,
  startNginx,
  verifies,
} from "@holdfast/testkit";
import { afterAll, describe, expect, test } from "vitest";
import { connectV1, connectV2, type SdkClient, startWork } from "./sdk-client.ts";
import {
  range,
  serveWorker,
  stepsOf,
  tickNumber,
  ticksOf,
  type WorkerGateway,
  workerCall,
} from "./worker.ts";

afterAll(disposeAll);

const idleTimeoutMs = 2_000;
const heartbeatMs = 500;
/** So many heartbeats take half as long again as the proxy's patience. */
const heartbeatsOfRest = 6;

const proxies = [
  ["haproxy", startHaproxy],
  ["nginx", startNginx],
] as const;

describe.concurrent.each(proxies)("%s", (name, start) => {
  const isMissing = !requireService(name);

  test
    .skipIf(isMissing)
    .concurrent(
      `${verifies("S-01", "R-01", "X-01", "c018")}heartbeats off: quiet streams are cut and resumed`,
      async () => {
        const { url, gateway } = await behind(start, ["--heartbeat", "0", "--retry", "100ms"]);
        // One after the other: what is begun while children start may be quiet for too long.
        const calling = await openSession(url);
        const listening = await openSession(url);
        const v1 = await connectV1(url);
        const v2 = await connectV2(url);
        await Promise.all([
          callByHand(calling, gateway),
          listenByHand(listening),
          resumeWithSdk(v1, gateway, "v1"),
          resumeWithSdk(v2, gateway, "v2"),
        ]);
      },
    );

  test
    .skipIf(isMissing)
    .concurrent(`${verifies("E-06", "c018")}heartbeats on: no stream is ever cut`, async () => {
      const { url, gateway } = await behind(start, ["--heartbeat", `${heartbeatMs}ms`]);
      const session = await openSession(url);
      const sdks = [await connectV1(url), await connectV2(url)];
      const sdkWorks = await Promise.all(sdks.map((sdk, index) => startWork(sdk, `sdk${index}`)));
      const listening = await session.get();
      const work = await session.call("work", { name: "hand" }, { progressToken: 1 });
      const streams = [listening, work];
      await Promise.all(streams.map((stream) => heartbeats(stream, heartbeatsOfRest)));

      await workerCall(session, "tick", { from: 1, count: 2 });
      await workerCall(session, "advance", { name: "hand", progress: 2, done: true });
      await work.response();
      expect((await work.ended).how).toBe("end");
      expect(stepsOf(work.messages)).toEqual([1, 2, 3]);
      await listening.nextMessage(({ params }) => params?.uri === "tick://2");
      expect(ticksOf(listening.messages)).toEqual([1, 2]);
      for (const [index, sdk] of sdks.entries()) {
        await sdk.call("advance", { name: `sdk${index}`, progress: 2, done: true });
        const running = sdkWorks[index];
        expect(await running?.result).toBe(`sdk${index} done`);
        expect(running?.steps).toEqual([1, 2, 3]);
        const gets = sdk.requests.filter(({ method }) => method === "GET");
        expect(gets).toEqual([{ method: "GET", lastEventId: undefined, status: 200 }]);
        expect(gateway.effects(`sdk${index}`)).toBe(1);
      }
      expect(gateway.effects("hand")).toBe(1);
    });
});

async function behind(
  start: (options: RealProxyOptions) => Promise<{ url(path: string): string }>,
  options: readonly string[],
): Promise<{ url: string; gateway: WorkerGateway }> {
  const gateway = await serveWorker(options);
  const proxy = await start({ target: gateway.target, idleTimeoutMs });
  return { url: proxy.url("/mcp"), gateway };
}

/** A call that is cut twice before anything new, then goes on unseen, then is cut once more. */
async function callByHand(session: RawSession, gateway: WorkerGateway): Promise<void> {
  const work = await session.call("work", { name: "hand" }, { progressToken: 1 });
  await cut(work);
  const again = await session.get({ lastEventId: work.lastEventId ?? "" });
  await cut(again);
  await workerCall(session, "advance", { name: "hand", progress: 2 });
  const third = await session.get({ lastEventId: again.lastEventId ?? "" });
  await cut(third);
  await workerCall(session, "advance", { name: "hand", progress: 1, done: true });
  const last = await session.get({ lastEventId: third.lastEventId ?? "" });
  await last.response();
  expect((await last.ended).how).toBe("end");
  const streams = [work, again, third, last];
  expect(streams.map(({ messages }) => stepsOf(messages))).toEqual([[1], [], [2, 3], [4]]);
  expect(last.messages.at(-1)?.result).toMatchObject({ content: [{ text: "hand done" }] });
  expect(gateway.effects("hand")).toBe(1);
}

async function listenByHand(session: RawSession): Promise<void> {
  const streams = [await session.get()];
  for (let round = 0; round < 2; round++) {
    const stream = streams[round] as EventStream;
    await workerCall(session, "tick", { from: round * 10 + 1, count: 5 });
    await cut(stream);
    await workerCall(session, "tick", { from: round * 10 + 6, count: 5 });
    streams.push(await session.get({ lastEventId: stream.lastEventId ?? "" }));
  }
  await streams[2]?.nextMessage(({ params }) => params?.uri === "tick://20");
  expect(streams.flatMap(({ messages }) => ticksOf(messages))).toEqual(range(1, 20));
}

/** Both streams of an SDK client are cut twice while nothing happens. */
async function resumeWithSdk(
  client: SdkClient,
  gateway: WorkerGateway,
  sdk: string,
): Promise<void> {
  const resumes = countResumes(client);
  const work = await startWork(client, sdk);
  await resumes.eachReaches(2);
  await client.call("tick", { from: 1, count: 3 });
  await client.call("advance", { name: sdk, progress: 3, done: true });
  expect(await work.result).toBe(`${sdk} done`);
  expect(work.steps).toEqual([1, 2, 3, 4]);
  const last = client.onUpdated.next((uri) => uri === "tick://6");
  await client.call("tick", { from: 4, count: 3 });
  await last;
  expect(client.updated.map(tickNumber)).toEqual(range(1, 6));
  expect(gateway.effects(sdk)).toBe(1);
}

/** Counts the resumes that were answered, of the standalone stream and of the newest call. */
function countResumes(client: SdkClient): { eachReaches(count: number): Promise<void> } {
  const isResume = (isStandalone: boolean) => (request: SdkClient["requests"][number]) =>
    request.status === 200 &&
    request.lastEventId !== undefined &&
    (parseEventId(request.lastEventId)?.stream === 0) === isStandalone;
  const reaches = async (isStandalone: boolean, count: number) => {
    const matches = isResume(isStandalone);
    while (client.requests.filter(matches).length < count) await client.onRequest.next(matches);
  };
  return {
    eachReaches: async (count) => {
      await Promise.all([reaches(true, count), reaches(false, count)]);
    },
  };
}

async function cut(stream: EventStream): Promise<void> {
  await stream.rest();
  expect((await stream.ended).how).not.toBe("end");
}

async function heartbeats(stream: EventStream, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await stream.nextComment((text) => text.startsWith("at "));
}
