/**
 * The feed: what happened in all sessions, in the order in which it happened, as one stream of
 * events. Each event is a batch of items; this file says how a batch is written and read.
 *
 * A batch is JSON: `{"t": ms, "g": [tag…], "m": [[dt, code, …]…]}`: times relative to `t`, tags by
 * their index in `g`. A busy gateway writes thousands of items a second.
 *
 * Pure; runs in the gateway, in the terminal's timeline and in the browser.
 */
import type { OutcomeUnknownReason } from "@holdfast/contract";

export type EventKind = "notification" | "request" | "response";
export type CallOutcome = "answered" | "cancelled" | OutcomeUnknownReason;
export type EndReason = "deleted" | "expired" | "ended";
export type DetachCause =
  | "finished"
  | "ended"
  | "taken-over"
  | "released"
  | "evicted"
  | "stalled"
  | "unstored"
  | "disconnected";

export interface NamedCall {
  readonly method: string;
  readonly name?: string;
}

/** Something that happened in a session; `atMs` by the wall clock of the gateway. */
export type SessionItem = { readonly tag: string; readonly atMs: number } & (
  | { readonly kind: "begun"; readonly client: string | undefined }
  | { readonly kind: "ended"; readonly reason: EndReason }
  | { readonly kind: "adopted" }
  | { readonly kind: "opened"; readonly stream: number; readonly calls: readonly NamedCall[] }
  | {
      readonly kind: "appended";
      readonly stream: number;
      /** First and last position; several where one kind came in a row. */
      readonly position: number;
      readonly through: number;
      readonly event: EventKind;
      readonly bytes: number;
    }
  | {
      readonly kind: "settled";
      readonly stream: number;
      readonly call: number;
      readonly outcome: CallOutcome;
    }
  | {
      readonly kind: "attached";
      readonly stream: number;
      readonly after: number;
      readonly isResume: boolean;
    }
  | {
      readonly kind: "detached";
      readonly stream: number;
      readonly cause: DetachCause;
      readonly shown: number;
    }
  | {
      readonly kind: "gap";
      readonly stream: number;
      readonly from: number;
      readonly to: number;
      readonly lostEvents: number | null;
      readonly isInBand: boolean;
    }
);

/** Something that happened to the gateway: it stopped (or nobody knows how it did), it started. */
export type ProcessItem = {
  readonly kind: "started" | "stopped" | "skipped";
  readonly atMs: number;
};

export type FeedItem = SessionItem | ProcessItem;

type Cell = string | number | null | readonly (readonly string[])[];

interface Batch {
  readonly t: number;
  readonly g: readonly string[];
  readonly m: readonly (readonly Cell[])[];
}

/** JSON of a batch. @param items - at least one, in the order of time */
export function encodeBatch(items: readonly FeedItem[]): string {
  const t = items[0]?.atMs ?? 0;
  const tags = new Map<string, number>();
  const indexOf = (tag: string) => {
    const index = tags.get(tag) ?? tags.size;
    tags.set(tag, index);
    return index;
  };
  const m = items.map((item) => {
    const dt = item.atMs - t;
    return "tag" in item ? [dt, ...cellsOf(item, indexOf(item.tag))] : [dt, codes[item.kind]];
  });
  return JSON.stringify({ t, g: [...tags.keys()], m } satisfies Batch);
}

/** @throws SyntaxError, TypeError for what {@link encodeBatch} did not write */
export function decodeBatch(text: string): readonly FeedItem[] {
  const { t, g, m } = JSON.parse(text) as Batch;
  return m.flatMap((cells) => itemOf(cells, t, g) ?? []);
}

const codes = {
  begun: "b",
  ended: "x",
  adopted: "t",
  opened: "o",
  appended: "e",
  settled: "c",
  attached: "a",
  detached: "d",
  gap: "g",
  started: "+",
  stopped: "-",
  skipped: "?",
} as const satisfies Record<FeedItem["kind"], string>;

const kinds = ["notification", "request", "response"] as const;

function cellsOf(item: SessionItem, tag: number): readonly Cell[] {
  const head = [codes[item.kind], tag];
  switch (item.kind) {
    case "begun":
      return item.client === undefined ? head : [...head, item.client];
    case "ended":
      return [...head, item.reason];
    case "adopted":
      return head;
    case "opened":
      return [...head, item.stream, item.calls.map(({ method, name }) => [method, name ?? ""])];
    case "appended": {
      const { stream, position, through, event, bytes } = item;
      return [...head, stream, position, through, kinds.indexOf(event), bytes];
    }
    case "settled":
      return [...head, item.stream, item.call, item.outcome];
    case "attached":
      return [...head, item.stream, item.after, Number(item.isResume)];
    case "detached":
      return [...head, item.stream, item.cause, item.shown];
    case "gap":
      return [...head, item.stream, item.from, item.to, item.lostEvents, Number(item.isInBand)];
  }
}

/** @returns undefined for an item that this version does not know */
function itemOf(
  [dt, code, index, ...rest]: readonly Cell[],
  t: number,
  tags: readonly string[],
): FeedItem | undefined {
  const atMs = t + number(dt);
  switch (code) {
    case codes.started:
      return { kind: "started", atMs };
    case codes.stopped:
      return { kind: "stopped", atMs };
    case codes.skipped:
      return { kind: "skipped", atMs };
  }
  const tag = tags[number(index)];
  if (tag === undefined) return undefined;
  const [a, b, c, d, e] = rest;
  const at = { tag, atMs };
  switch (code) {
    case codes.begun:
      return { ...at, kind: "begun", client: typeof a === "string" ? a : undefined };
    case codes.ended:
      return { ...at, kind: "ended", reason: a as EndReason };
    case codes.adopted:
      return { ...at, kind: "adopted" };
    case codes.opened: {
      const calls = (b as readonly (readonly string[])[]).map(([method = "", name = ""]) => ({
        method,
        ...(name === "" ? {} : { name }),
      }));
      return { ...at, kind: "opened", stream: number(a), calls };
    }
    case codes.appended: {
      const event = kinds[number(d)] ?? "notification";
      const place = { stream: number(a), position: number(b), through: number(c) };
      return { ...at, kind: "appended", ...place, event, bytes: number(e) };
    }
    case codes.settled:
      return {
        ...at,
        kind: "settled",
        stream: number(a),
        call: number(b),
        outcome: c as CallOutcome,
      };
    case codes.attached:
      return { ...at, kind: "attached", stream: number(a), after: number(b), isResume: c === 1 };
    case codes.detached:
      return {
        ...at,
        kind: "detached",
        stream: number(a),
        cause: b as DetachCause,
        shown: number(c),
      };
    case codes.gap: {
      const extent = { from: number(b), to: number(c), lostEvents: d as number | null };
      return { ...at, kind: "gap", stream: number(a), ...extent, isInBand: e === 1 };
    }
  }
  return undefined;
}

function number(cell: Cell | undefined): number {
  if (typeof cell !== "number") throw new TypeError(`${JSON.stringify(cell)} is no number`);
  return cell;
}
