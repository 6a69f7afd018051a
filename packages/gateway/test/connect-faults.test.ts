/** `holdfast connect` behind a bad network: cuts, refusals, gaps, and a server that is away. */
import { setTimeout as delay } from "node:timers/promises";
import { disposeAll, type FaultProxy, faultProxy, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { quickly, startHost } from "./connect-host.ts";
import { type Asked, json, scriptedUpstream } from "./connect-upstream.ts";
import { serveWorker, textOf, type WorkerGateway } from "./worker.ts";

afterEach(disposeAll);

async function behindProxy(): Promise<WorkerGateway & { readonly proxy: FaultProxy }> {
  const gateway = await serveWorker(["--retry", "50ms"]);
  return { ...gateway, proxy: await faultProxy({ target: gateway.target }) };
}

test.each(["rst", "fin", "half-close"] as const)(
  `${verifies("R-01", "K-01", "K-06")}cut in mid-call (%s), twice: one effect, every event once`,
  async (manner) => {
    const { proxy, effects } = await behindProxy();
    const host = await startHost(proxy.url("/mcp"));
    await host.initialize();
    const work = host.startTool("work", { name: "a" });
    await host.message(/"method":"notifications\/progress"/);
    proxy.cutAll(manner);
    await host.call("advance", { name: "a", progress: 2 });
    proxy.cutAll(manner);
    await host.call("advance", { name: "a", progress: 1, done: true });
    expect(textOf(await host.answer(work))).toBe("a done");
    expect(host.steps(work)).toEqual([1, 2, 3, 4]);
    expect(effects("a")).toBe(1);
    expect(host.answers(work)).toBe(1);
  },
);

test(`${verifies("K-04")}503 for a while: the call waits, and so does the next one`, async () => {
  const { proxy, effects } = await behindProxy();
  const host = await startHost(proxy.url("/mcp"));
  await host.initialize();
  const work = host.startTool("work", { name: "a" });
  await host.message(/"method":"notifications\/progress"/);
  proxy.refuse(503);
  const tried = proxy.nextRequest();
  proxy.cutAll("rst");
  await tried;
  const waiting = host.startTool("echo", { text: "waited" });
  await proxy.nextRequest();
  proxy.heal();
  expect(textOf(await host.answer(waiting))).toBe("waited");
  await host.call("advance", { name: "a", done: true });
  expect(textOf(await host.answer(work))).toBe("a done");
  expect(effects("a")).toBe(1);
});

// The time itself is what is asked about: HOLDFAST_AWAY_MS=10000 for the long one.
test(`${verifies("K-04")}503 for as long as a deploy may take: the running call has its result, once`, async () => {
  const { proxy, effects } = await behindProxy();
  const host = await startHost(proxy.url("/mcp"));
  await host.initialize();
  const work = host.startTool("work", { name: "a" });
  await host.message(/"method":"notifications\/progress"/);
  proxy.refuse(503);
  proxy.cutAll("rst");
  await delay(Number(process.env.HOLDFAST_AWAY_MS ?? 1_000));
  proxy.heal();
  await host.call("advance", { name: "a", done: true });
  expect(textOf(await host.answer(work))).toBe("a done");
  expect(effects("a")).toBe(1);
});

test(`${verifies("K-05")}away for too long: the host is told, calls end as unknown, and it comes back`, async () => {
  const { proxy, effects } = await behindProxy();
  const options = ["--reconnect-initial", "5ms", "--reconnect-attempts", "2"];
  const host = await startHost(proxy.url("/mcp"), { options });
  await host.initialize();
  const work = host.startTool("work", { name: "a" });
  await host.message(/"method":"notifications\/progress"/);
  proxy.refuse(503);
  proxy.cutAll("rst");
  expect(await host.notice("parked")).toMatchObject({ why: "unreachable" });
  const { error } = await host.answer(work);
  expect(error).toMatchObject({ code: -32011, data: { reason: "unreachable", requestId: work } });
  proxy.heal();
  expect(await host.call("echo", { text: "back" })).toBe("back");
  await host.notice("resumed");
  expect(effects("a")).toBe(1);
  expect(host.answers(work)).toBe(1);
});

test(`${verifies("K-08")}lost events: the host is told before any later event`, async () => {
  const oldest = "oldest";
  const upstream = await scriptedUpstream(({ verb, headers }, response) => {
    if (verb !== "GET") return false;
    const cursor = headers["last-event-id"];
    if (cursor === "seen") {
      const data = { type: "resume-window-exceeded", stream: 0, lostEvents: 7 };
      const ids = { oldestEventId: oldest, headEventId: "head", requested: cursor };
      const error = { code: -32010, message: "Gone.", data: { ...data, ...ids } };
      return json(response, 410, { jsonrpc: "2.0", id: null, error });
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (cursor === undefined) response.end(`id: seen\ndata: ${updated(1)}\n\n`);
    else response.write(`id: next\ndata: ${updated(9)}\n\n`);
    return true;
  });
  const host = await startHost(upstream.url);
  await host.initialize();
  const data = await host.notice("resume-window-exceeded");
  expect(data).toMatchObject({ lane: "standalone", from: "seen", to: oldest, lostEvents: 7 });
  await host.message(/tick:\/\/9/);
  const told = host.messages().flatMap(({ method, params }) => {
    if (method === "notifications/message") return ["gap"];
    return method === "notifications/resources/updated" ? [params?.uri] : [];
  });
  expect(told).toEqual(["tick://1", "gap", "tick://9"]);
});

const updated = (n: number) =>
  JSON.stringify({
    jsonrpc: "2.0",
    method: "notifications/resources/updated",
    params: { uri: `tick://${n}` },
  });

test(`${verifies("K-07", "c017")}404: initialized again with the host's own words, and the host sees nothing of it`, async () => {
  let isForgotten = false;
  const upstream = await scriptedUpstream(({ message, headers }, response) => {
    if (message?.method !== "tools/call" || !isForgotten) return false;
    if (headers["mcp-session-id"] !== "session-1") return false;
    return json(response, 404, { jsonrpc: "2.0", id: null, error: { code: -32001, message: "" } });
  });
  const host = await startHost(upstream.url, { options: quickly });
  await host.initialize();
  isForgotten = true;
  const id = host.startTool("charge", { amount: 5 });
  expect((await host.answer(id)).result).toEqual({});
  const named = (method: string) =>
    upstream.asked.filter((asked: Asked) => asked.message?.method === method);
  const [first, second, ...more] = named("initialize");
  expect(more).toEqual([]);
  expect(second?.message?.params).toEqual(first?.message?.params);
  expect(second?.message?.id).not.toBe(first?.message?.id);
  expect(host.messages().map((one) => one.id)).toEqual([1, id]);
});
