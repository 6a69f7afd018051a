/**
 * The npm package `eventsource` as an outside referee of the standalone stream: it follows the
 * WHATWG standard and knows nothing of MCP. 40 ticks, a cut of some kind on the way: 40 of 40.
 */
import {
  type CutManner,
  disposeAll,
  type FaultRules,
  faultProxy,
  onDispose,
  openSession,
  verifies,
  within,
} from "@holdfast/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { importInterop, requireInterop } from "./interop-packages.ts";
import { callIn, range, serveWorker, tickNumber, type WorkerGateway } from "./worker.ts";

interface Source {
  onmessage: ((event: { readonly data: string; readonly lastEventId: string }) => void) | null;
  onopen: (() => void) | null;
  onerror: (() => void) | null;
  readonly readyState: number;
  close(): void;
}

interface EventSourcePackage {
  readonly EventSource: new (url: string, options: { readonly fetch: typeof fetch }) => Source;
}

const ticks = 40;
const isMissing = !requireInterop();
let gateway: WorkerGateway;
beforeAll(async () => {
  gateway = await serveWorker(["--log", "memory:", "--retry", "100ms"]);
});
afterAll(disposeAll);

interface Fault {
  /** From the beginning on. */
  readonly rules?: FaultRules;
  /** Once, when the ninth tick was seen. */
  readonly atTick9?: CutManner;
}

const faults: readonly (readonly [string, Fault])[] = [
  ["a reset", { atTick9: "rst" }],
  ["a polite end", { atTick9: "fin" }],
  ["a half-close that the server does not notice", { atTick9: "half-close" }],
  ["a cap on time, again and again", { rules: { responseMs: 400 } }],
  ["a cap on bytes, again and again", { rules: { afterBytes: { min: 900, max: 2_000 } } }],
];

test.skipIf(isMissing).concurrent.each(faults)(
  `${verifies("R-01", "E-08", "E-02")}an EventSource sees all ticks in order, once, across %s`,
  async (_what, { rules = {}, atTick9 }) => {
    const { EventSource } = await importInterop<EventSourcePackage>("eventsource");
    const proxy = await faultProxy({ target: gateway.target, rules });
    const session = await openSession(gateway.url);
    const source = new EventSource(proxy.url("/mcp"), {
      fetch: (input, init) => {
        const headers = new Headers(init?.headers);
        headers.set("mcp-session-id", session.sessionId);
        return fetch(input, { ...init, headers });
      },
    });
    onDispose(() => source.close());
    const seen: (number | undefined)[] = [];
    const ids = new Set<string>();
    let opens = 0;
    const opened = Promise.withResolvers<void>();
    const all = Promise.withResolvers<void>();
    source.onopen = () => {
      opens += 1;
      opened.resolve();
    };
    source.onmessage = ({ data, lastEventId }) => {
      // The priming event: to the standard it is an event like any other.
      if (data === "") return;
      const tick = tickNumber(JSON.parse(data).params.uri);
      seen.push(tick);
      ids.add(lastEventId);
      if (tick === 9 && atTick9 !== undefined) proxy.cutAll(atTick9);
      if (tick === ticks) all.resolve();
    };
    await within(opened.promise, "the stream to open");
    const args = { name: "ticks", steps: ticks, everyMs: 50 };
    await callIn(gateway.url, session.sessionId, "steady", args);
    await within(all.promise, `tick ${ticks}`);
    expect(seen).toEqual(range(1, ticks));
    expect(ids.size).toBe(ticks);
    expect(opens).toBeGreaterThan(1);
  },
);

test.skipIf(isMissing)(
  `${verifies("R-06")}an EventSource on the stream of a call that is over stops by itself`,
  async () => {
    const { EventSource } = await importInterop<EventSourcePackage>("eventsource");
    const session = await openSession(gateway.url);
    const done = await session.call("echo", { text: "done" });
    await done.response();
    const statuses: number[] = [];
    const ended = Promise.withResolvers<void>();
    const source = new EventSource(gateway.url, {
      fetch: async (input, init) => {
        const headers = new Headers(init?.headers);
        headers.set("mcp-session-id", session.sessionId);
        headers.set("last-event-id", done.lastEventId ?? "");
        const response = await fetch(input, { ...init, headers });
        statuses.push(response.status);
        return response;
      },
    });
    source.onerror = () => {
      if (source.readyState === closed) ended.resolve();
    };
    await within(ended.promise, "the EventSource to stop");
    expect(statuses).toEqual([204]);
  },
);

/** [spec] `EventSource.CLOSED` */
const closed = 2;
