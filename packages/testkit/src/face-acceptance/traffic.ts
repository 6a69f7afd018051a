/** What the chapters let upstreams say, and how they look at what readers got of it. */
import { type EventPlace, parseEventId } from "@holdfast/contract";
import { messageOf, type RpcMessage } from "../event-stream.ts";
import { rawRequest } from "../http-exchange.ts";
import type { CallOptions } from "../raw-session.ts";
import type { SseItem } from "../sse-reading.ts";
import type { Bench, BenchSession } from "./bench.ts";
import type { ScriptedUpstream } from "./scripted-upstream.ts";

/** A log message with a number, and as much text as is asked for. */
export function note(number: number, padding = ""): object {
  return {
    method: "notifications/message",
    params: { level: "info", data: { number, ...(padding !== "" && { padding }) } },
  };
}

/** Say the notes `from` to `to`; on the call in flight, or on the standalone stream. */
export function sayNotes(upstream: ScriptedUpstream, from: number, to: number): void {
  for (let number = from; number <= to; number += 1) upstream.say(note(number));
}

/** The number of a note; `undefined` for every other message. */
export function numberOf(message: RpcMessage): number | undefined {
  const data = message.params?.["data"];
  const isNote = typeof data === "object" && data !== null && "number" in data;
  return isNote && typeof data.number === "number" ? data.number : undefined;
}

/** The numbers of the notes among these items, in their order. */
export function numbersIn(items: readonly SseItem[]): number[] {
  return items.flatMap((item) => {
    const message = messageOf(item);
    return message === undefined ? [] : (numberOf(message) ?? []);
  });
}

/** The whole numbers `from` to `to`. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

/** The place that an event id names. @throws Error for what is no event id */
export function placeOf(id: string | undefined): EventPlace {
  const place = parseEventId(id ?? "");
  if (place === undefined) throw new Error(`no event id: ${id}`);
  return place;
}

/** POST a call, and take it at the upstream. */
export async function openCall(session: BenchSession, options?: CallOptions) {
  const stream = await session.call("work", {}, options);
  const call = await session.upstream.request("tools/call");
  return { stream, call };
}

/** Ids of the events with data, and of the priming event. */
export function idsIn(items: readonly SseItem[]): string[] {
  return items.flatMap((item) => ("id" in item && item.id !== undefined ? [item.id] : []));
}

/**
 * Let the server's loop turn until everything that it had to do by now is done: requests that
 * change nothing go there and back.
 */
export async function settle(bench: Bench): Promise<void> {
  for (let i = 0; i < 5; i += 1) {
    const { status } = await rawRequest({ url: bench.url, method: "GET" });
    if (status !== 406) throw new Error(`a GET without Accept was answered ${status}`);
  }
}

/** A door that a test opens: what waits at it goes on then. */
export function door() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const state = { isOpen: false };
  return {
    passed: promise,
    get isOpen() {
      return state.isOpen;
    },
    open: () => {
      state.isOpen = true;
      resolve();
    },
  };
}
