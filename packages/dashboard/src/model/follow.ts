/**
 * A reader of the feed that survives what connections do: it goes on from its cursor, as any client
 * of the contract does, and asks `decideClose` what a closed stream means.
 *
 *     connecting ──200──▶ live ──cut──▶ waiting ──▶ connecting
 *                            └──the cursor is no longer honoured──▶ over: take a fresh snapshot
 *
 * Runs in the browser and in the command; nothing is stored.
 */
import { type ClosedBy, decideClose } from "@holdfast/contract";
import { createParser } from "eventsource-parser";
import { decodeBatch, type FeedItem } from "./feed.ts";

export interface FollowSettings {
  readonly url: string | URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Event id of the newest event that is known. */
  readonly cursor: string;
  /** @param eventId - of the event that they came in */
  onItems(items: readonly FeedItem[], eventId: string): void;
  /** `live`: the stream is open; `waiting`: it is to be opened again. */
  onState(state: "live" | "waiting"): void;
  /** Ends it. */
  readonly signal: AbortSignal;
}

export type FollowEnd =
  /** By its signal. */
  | { readonly kind: "stopped" }
  /** What came after the cursor cannot be had: a fresh snapshot, and a hole. */
  | { readonly kind: "lost" }
  | { readonly kind: "unauthorized" }
  | { readonly kind: "refused"; readonly status: number };

const waitMs = { first: 200, longest: 3_000 } as const;
/** Without a byte for so long, the connection is dead: three heartbeats [C K-12]. */
const silenceMs = 15_000;

export async function followFeed(settings: FollowSettings): Promise<FollowEnd> {
  const { signal } = settings;
  const held = { cursor: settings.cursor, retryMs: null as number | null };
  for (let failures = 0; !signal.aborted; ) {
    const closed = await readOnce(settings, held, () => {
      failures = 0;
    });
    if (signal.aborted) break;
    const decision = decideClose(closed, {
      ...held,
      lane: "standalone",
      isBudgetSpent: false,
      gapRecovery: "oldest",
    });
    if (decision.kind === "authorization") return { kind: "unauthorized" };
    if (decision.kind !== "resume" && decision.kind !== "busy") {
      const isLost = closed.kind === "status" && [400, 404, 410].includes(closed.status);
      if (isLost || decision.kind === "eventsLost") return { kind: "lost" };
      return { kind: "refused", status: closed.kind === "status" ? closed.status : 200 };
    }
    settings.onState("waiting");
    const backoffMs = Math.min(waitMs.first * 2 ** failures, waitMs.longest);
    failures += 1;
    await pause(Math.max(decision.floorMs, Math.random() * backoffMs), signal);
  }
  return { kind: "stopped" };
}

interface HeldCursor {
  cursor: string;
  retryMs: number | null;
}

async function readOnce(
  { url, headers, signal, onItems, onState }: FollowSettings,
  held: HeldCursor,
  onOpen: () => void,
): Promise<ClosedBy<string>> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceMs);
  };
  try {
    const response = await fetch(url, {
      headers: { ...headers, accept: "text/event-stream", "last-event-id": held.cursor },
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!response.ok || response.status === 204) return await refusalOf(response);
    const contentType = response.headers.get("content-type");
    if (!contentType?.startsWith("text/event-stream") || response.body === null) {
      return { kind: "notEventStream", contentType };
    }
    onOpen();
    onState("live");
    const parser = createParser({
      onEvent: ({ id, data }) => {
        if (data !== "") onItems(decodeBatch(data), id ?? held.cursor);
        // After it was handed on: what was not, comes again.
        if (id !== undefined) held.cursor = id;
      },
      onRetry: (ms) => {
        held.retryMs = ms;
      },
    });
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { kind: "eof", isAnnounced: false };
      heard();
      parser.feed(decoder.decode(value, { stream: true }));
    }
  } catch {
    return { kind: silence.signal.aborted ? "timeout" : "reset" };
  } finally {
    clearTimeout(timer);
  }
}

async function refusalOf(response: Response): Promise<ClosedBy<string>> {
  const body: unknown = await response.json().catch(() => undefined);
  const data = (body as { error?: { data?: Record<string, unknown> } } | undefined)?.error?.data;
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  const after = Number(response.headers.get("retry-after") ?? Number.NaN);
  return {
    kind: "status",
    status: response.status,
    type: text(data?.["type"]),
    oldestEventId: text(data?.["oldestEventId"]),
    headEventId: text(data?.["headEventId"]),
    retryAfterMs: Number.isFinite(after) ? after * 1_000 : null,
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
