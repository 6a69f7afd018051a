/** The balancer of the demo, in front of a server that answers as it is told. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  disposeAll,
  NoResponseError,
  onDispose,
  openEventStream,
  rawRequest,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { type Balancer, startBalancer } from "../src/demo/balancer.ts";

afterEach(disposeAll);

/** Streams at `/stream` and never ends; else answers at once. */
async function balanced(): Promise<{ balancer: Balancer; url: string; streams: ServerResponse[] }> {
  const streams: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url !== "/stream") return void response.end("whole");
    streams.push(response);
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 0\n\n");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const balancer = await startBalancer((server.address() as AddressInfo).port);
  onDispose(async () => {
    await balancer.close();
    server.close().closeAllConnections();
  });
  return { balancer, streams, url: `http://127.0.0.1:${balancer.port}` };
}

test("bytes pass, until every connection is reset on both sides", async () => {
  const { balancer, url, streams } = await balanced();
  expect((await rawRequest({ url })).text).toBe("whole");
  const stream = await openEventStream({ url: `${url}/stream` });
  await stream.nextEvent();
  const serverSide = once(streams[0]!, "close");
  const before = balancer.counts.cuts;
  balancer.cutAll();
  expect((await stream.ended).how).toBe("reset");
  await serverSide;
  expect(balancer.counts.cuts).toBe(before + 1);
});

test("a silent stream is cut, also one that was open before", async () => {
  const { balancer, url } = await balanced();
  const before = await openEventStream({ url: `${url}/stream` });
  await before.nextEvent();
  balancer.cutSilent(50);
  expect((await before.ended).how).toBe("reset");
  const after = await openEventStream({ url: `${url}/stream` });
  expect((await after.ended).how).toBe("reset");
  expect(balancer.counts.cuts).toBe(2);
});

test("503 for a while, with the server untouched, and then service", async () => {
  const { balancer, url, streams } = await balanced();
  balancer.refuseFor(60_000);
  expect((await rawRequest({ url: `${url}/stream`, method: "POST", body: "{}" })).status).toBe(503);
  expect([streams.length, balancer.counts.refusals]).toEqual([0, 1]);
  balancer.refuseFor(0);
  expect((await rawRequest({ url })).status).toBe(200);
});

test("closed, it answers nobody", async () => {
  const { balancer, url } = await balanced();
  await balancer.close();
  await expect(rawRequest({ url })).rejects.toThrow(NoResponseError);
});
