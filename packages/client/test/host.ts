/** A small application around a transport: it initializes, calls, and waits for its answers. */
import {
  type Gap,
  type Parked,
  type ResumableClientOptions,
  ResumableClientTransport,
  type SessionEnded,
  type UnknownOutcome,
} from "@holdfast/client";
import { onDispose, within } from "@holdfast/testkit";
import { type AppMessage, initializeParams } from "./world.ts";

export interface Host {
  readonly transport: ResumableClientTransport;
  /** Notifications, in their order. */
  readonly events: AppMessage[];
  readonly gaps: Gap[];
  readonly unknown: UnknownOutcome[];
  readonly ended: SessionEnded[];
  readonly parked: Parked[];
  readonly errors: Error[];
  /** @returns its answer; rejects as `send` does */
  request(method: string, params?: object): Promise<AppMessage>;
  call(name?: string, args?: object): Promise<AppMessage>;
}

/** Delays that a test can wait for. */
export const quick = { initialDelayMs: 5, maxDelayMs: 20, maxAttempts: 8, maxElapsedMs: 20_000 };

export async function openHost(
  url: string,
  options: ResumableClientOptions = {},
  params: object = initializeParams,
): Promise<Host> {
  const told = {
    ...{ events: [] as AppMessage[], gaps: [] as Gap[], unknown: [] as UnknownOutcome[] },
    ...{ ended: [] as SessionEnded[], parked: [] as Parked[], errors: [] as Error[] },
  };
  const transport = new ResumableClientTransport(url, {
    reconnect: quick,
    onGap: (gap) => void told.gaps.push(gap),
    onUnknownOutcome: (outcome) => void told.unknown.push(outcome),
    onSessionEnded: (ended) => void told.ended.push(ended),
    onParked: (parked) => void told.parked.push(parked),
    ...options,
  });
  onDispose(() => transport.close());
  const waiting = new Map<unknown, (message: AppMessage) => void>();
  transport.onerror = (error) => void told.errors.push(error);
  transport.onmessage = (raw) => {
    const message = raw as AppMessage;
    if (message.method !== undefined) told.events.push(message);
    else waiting.get(message.id)?.(message);
  };
  await transport.start();
  let nextId = 0;
  const request = async (method: string, given?: object): Promise<AppMessage> => {
    const id = nextId;
    nextId += 1;
    const { promise, resolve } = Promise.withResolvers<AppMessage>();
    waiting.set(id, resolve);
    const message = { jsonrpc: "2.0", id, method, params: given };
    // Only a rejection ends it early: the answer comes by itself.
    const failed = transport.send(message).then(() => promise);
    return within(Promise.race([promise, failed]), `the answer to ${method}`);
  };
  await request("initialize", params);
  await transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  const call = (name = "charge", args: object = {}) =>
    request("tools/call", { name, arguments: args });
  return { transport, ...told, request, call };
}
