/**
 * Unmodified SDK clients on `holdfast serve` through a bad load balancer: whatever it cuts, a call
 * has one effect, its progress is complete, and its result arrives.
 */
import {
  disposeAll,
  type FaultProxy,
  faultProxy,
  openEventStream,
  signal,
  verifies,
} from "@holdfast/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Elicited, type SdkClient, sdkClients, startWork } from "./sdk-client.ts";
import { callIn, range, serveWorker, tickNumber, ticksOf, type WorkerGateway } from "./worker.ts";

let gateway: WorkerGateway;
beforeAll(async () => {
  gateway = await serveWorker(["--log", "memory:", "--retry", "50ms"]);
});
afterAll(disposeAll);

const eachSdk = test.concurrent.each(sdkClients);
const manners = ["rst", "fin", "half-close"] as const;

eachSdk(
  `${verifies("S-01", "X-01", "E-04")}SDK %s: a call that is cut in every way, and again, arrives once`,
  async (sdk, connect) => {
    const proxy = await faultProxy({ target: gateway.target });
    const client = await connect(proxy.url("/mcp"));
    const name = `reset ${sdk}`;
    const work = await startWork(client, name);
    for (const manner of manners) {
      await resumedAfter(client, () => proxy.cutAll(manner));
      // A second cut before anything new.
      await resumedAfter(client, () => proxy.cutAll(manner));
      await client.call("advance", { name, progress: 1 });
    }
    await whileAway(client, proxy, { name, progress: 2, done: true });
    expect(await work.result).toBe(`${name} done`);
    expect(work.steps).toEqual(range(1, 6));
    expect(gateway.effects(name)).toBe(1);
  },
);

eachSdk(
  `${verifies("E-04", "E-08", "c033")}SDK %s: responses that live 1.5 s at most lose and repeat nothing`,
  async (sdk, connect) => {
    const proxy = await faultProxy({ target: gateway.target });
    const client = await connect(proxy.url("/mcp"));
    await standaloneOpen(client);
    // From here on: no client can resume an `initialize`.
    proxy.setRules({ responseMs: 1_500 });
    const sessionId = client.sessionId();
    const steps: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void steps.push(progress);
    const last = client.onUpdated.next((uri) => uri === "tick://35");
    const args = { name: `steady ${sdk}`, steps: 35, everyMs: 200 };
    expect(await client.call("steady", args, { onprogress })).toBe(`steady ${sdk} done`);
    await last;
    expect(steps).toEqual(range(1, 35));
    expect(client.updated.map(tickNumber)).toEqual(range(1, 35));
    expect(client.sessionId()).toBe(sessionId);
    expect(gateway.effects(`steady ${sdk}`)).toBe(1);
    // The call and the standalone stream, each at least three times in 7 s.
    expect(proxy.counts.cuts).toBeGreaterThanOrEqual(6);
    expect(client.requests.filter(({ status }) => status >= 400)).toEqual([]);
  },
);

eachSdk(
  `${verifies("R-02", "S-01")}SDK %s: a resume that is cut before its headers costs nothing`,
  async (_sdk, connect) => {
    const proxy = await faultProxy({ target: gateway.target });
    const client = await connect(proxy.url("/mcp"));
    await standaloneOpen(client);
    await client.call("tick", { from: 1, count: 2 });
    proxy.setRules({ afterBytes: 0 });
    const headless = proxy.nextCut().then(() => proxy.nextCut());
    const resumed = client.onRequest.next(isResume);
    proxy.cutAll("rst");
    expect(await headless).toMatchObject({ cause: "bytes", responseBytes: 0 });
    proxy.heal();
    await resumed;
    const last = client.onUpdated.next((uri) => uri === "tick://4");
    await client.call("tick", { from: 3, count: 2 });
    await last;
    expect(client.updated.map(tickNumber)).toEqual(range(1, 4));
  },
);

eachSdk(
  `${verifies("S-01", "E-04", "R-07")}SDK %s: a first standalone GET that is cut before its headers ends nothing`,
  async (sdk, connect) => {
    const proxy = await faultProxy({ target: gateway.target });
    // Of the two requests before it the responses are whole: initialize, initialized.
    let requests = 0;
    const cut = new Promise<void>((resolve) => {
      const watch = async (): Promise<void> => {
        await proxy.nextRequest();
        requests += 1;
        if (requests === 2) proxy.setRules({ afterBytes: 0 });
        return requests < 3 ? watch() : resolve();
      };
      void watch();
    });
    const client = await connect(proxy.url("/mcp"));
    await cut;
    proxy.heal();
    const name = `headless ${sdk}`;
    const work = await startWork(client, name);
    await client.call("advance", { name, progress: 1, done: true });
    expect(await work.result).toBe(`${name} done`);
    expect(work.steps).toEqual([1, 2]);
    // The SDKs try no second time; what they would have seen waits for whoever asks.
    await client.call("tick", { from: 1, count: 2 });
    const listening = await openEventStream({
      url: gateway.url,
      headers: { accept: "text/event-stream", "mcp-session-id": client.sessionId() },
    });
    await listening.nextMessage(({ params }) => params?.uri === "tick://2");
    expect(ticksOf(listening.messages)).toEqual([1, 2]);
  },
);

eachSdk(
  `${verifies("X-06")}SDK %s: a question outlives cuts before and after it was seen`,
  async (sdk, connect) => {
    const proxy = await faultProxy({ target: gateway.target });
    const asked = signal<void>("question");
    const answer = Promise.withResolvers<Elicited>();
    let questions = 0;
    const user = () => {
      questions += 1;
      asked.emit();
      return answer.promise;
    };
    const client = await connect(proxy.url("/mcp"), { user });
    const name = `ask ${sdk}`;
    const work = await startWork(client, name);
    const seen = asked.next();
    await whileAway(client, proxy, { name, ask: "elicitation" });
    await seen;
    await resumedAfter(client, () => proxy.cutAll("rst"));
    await resumedAfter(client, () => proxy.cutAll("fin"));
    answer.resolve({ action: "accept", content: { colour: "red" } });
    expect(JSON.parse(await work.result)).toMatchObject({ content: { colour: "red" } });
    expect(questions).toBe(1);
    expect(gateway.effects(name)).toBe(1);
  },
);

eachSdk(
  `${verifies("E-05", "c035")}SDK %s: a proxy that holds heads back until a body comes stalls nothing`,
  async (_sdk, connect) => {
    const proxy = await faultProxy({ target: gateway.target, rules: { isHeadHeld: true } });
    const client = await connect(proxy.url("/mcp"));
    await standaloneOpen(client);
    expect(await client.call("echo", { text: "through" })).toBe("through");
  },
);

const isResume = ({ method, status, lastEventId }: SdkClient["requests"][number]) =>
  method === "GET" && status === 200 && lastEventId !== undefined;

/** Cut, and wait until both streams are back: the standalone one and the call's. */
async function resumedAfter(client: SdkClient, cut: () => void): Promise<void> {
  const before = client.requests.filter(isResume).length;
  cut();
  while (client.requests.filter(isResume).length < before + 2) {
    await client.onRequest.next(isResume);
  }
}

/** Advance a call of the client's session while nothing reaches the client. */
async function whileAway(client: SdkClient, proxy: FaultProxy, advance: object): Promise<void> {
  proxy.cutAll("rst");
  proxy.blackhole(true);
  await callIn(gateway.url, client.sessionId(), "advance", advance);
  proxy.heal();
}

async function standaloneOpen(client: SdkClient): Promise<void> {
  const isGet = ({ method }: SdkClient["requests"][number]) => method === "GET";
  if (!client.requests.some(isGet)) await client.onRequest.next(isGet);
}
