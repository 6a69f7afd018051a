/**
 * What the demo shows: failures that common deployments have today, as a list. Each runs on the
 * stock SDK and on Holdfast, with the same tools and the same balancer between.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { StockStore } from "./tool-process.ts";
import type { ToolName } from "./tools.ts";

/** What an exhibit may do to a call, and what it may wait for. */
export interface Scene {
  /** The caller's first session is open: a call follows at once. */
  readonly connected: Promise<void>;
  /** The caller holds a cursor of its first call. */
  readonly cursorHeld: Promise<void>;
  /** The caller has every entry that the report sends before it waits. */
  readonly reportWaits: Promise<void>;
  /** Reset every connection between caller and server. */
  cutAll(): void;
  /** From now on, reset a connection that was silent for so long. */
  cutSilent(idleMs: number): void;
  /** Answer 503 in the server's place. */
  refuseFor(ms: number): void;
  /** Let the report send its other entries. */
  letReportGoOn(): Promise<void>;
  /** Resolves when a tool has entered a deed in its ledger. */
  effectMade(): Promise<void>;
  /** Kill the server by SIGKILL and start it again: same port, same log. Resolves when it listens. */
  killAndRestart(): Promise<void>;
}

export interface Exhibit {
  readonly id: string;
  readonly incident: 1 | 2;
  readonly title: string;
  readonly tool: ToolName;
  /** How the stock server keeps events. */
  readonly store: StockStore;
  /** For people: how the stock server is set up. */
  readonly storePhrase: string;
  /** Options of `holdfast serve` beside its defaults: for the stock client, and for ours. */
  readonly serveOptions: readonly string[];
  readonly ownServeOptions: readonly string[];
  disturb(scene: Scene): Promise<void>;
}

/** Lengths of the demo, all shorter than in the field so that it ends within a minute. */
export interface Pace {
  readonly chargeMs: number;
  readonly callTimeoutMs: number;
  readonly attemptsMax: number;
  readonly entriesBefore: number;
  readonly entriesAfter: number;
  readonly closingMs: number;
}

export const demoPace: Pace = {
  chargeMs: 5000,
  callTimeoutMs: 10_000,
  attemptsMax: 2,
  entriesBefore: 21,
  entriesAfter: 139,
  closingMs: 500,
};

/** How long a connection may be silent, where it is to be cut once or twice in one charge. */
export const silentMs = { once: 3000, twice: 1500 } as const;
const refusedMs = 4000;
const keptEvents = 100;

export const exhibits: readonly Exhibit[] = [
  {
    id: "idle-cut",
    incident: 1,
    title: "the balancer cuts the silent stream",
    tool: "charge",
    store: { kind: "none" },
    storePhrase: "no event store (default)",
    serveOptions: [],
    ownServeOptions: [],
    disturb: async ({ connected, cutSilent }) => {
      await connected;
      cutSilent(silentMs.once);
    },
  },
  {
    id: "second-cut",
    incident: 1,
    title: "a second cut before any new event",
    tool: "charge",
    store: { kind: "sample" },
    storePhrase: "sample event store",
    serveOptions: [],
    ownServeOptions: [],
    disturb: async ({ connected, cutSilent }) => {
      await connected;
      // A silence, the time until this client is back, and a silence again fit into one charge.
      cutSilent(silentMs.twice);
    },
  },
  {
    id: "refused-resume",
    incident: 1,
    title: `a cut, then 503 for ${refusedMs / 1000} s`,
    tool: "charge",
    store: { kind: "sample" },
    storePhrase: "sample event store",
    // This client tries twice, each time after what the server asked for: the default of 1 s would
    // have it give up after 2 s.
    serveOptions: ["--retry", "3s"],
    ownServeOptions: [],
    disturb: async ({ cursorHeld, cutAll, refuseFor }) => {
      await cursorHeld;
      await delay(1000);
      refuseFor(refusedMs);
      cutAll();
    },
  },
  {
    id: "killed-server",
    incident: 1,
    title: "the server killed (-9) after the effect, before the answer, and restarted",
    tool: "charge",
    store: { kind: "sample" },
    storePhrase: "sample event store",
    // The two tries of this client are to leave the restart some seconds, on a busy machine too.
    serveOptions: ["--retry", "3s"],
    ownServeOptions: [],
    disturb: async ({ cursorHeld, effectMade, killAndRestart }) => {
      await Promise.all([cursorHeld, effectMade()]);
      await killAndRestart();
    },
  },
  {
    id: "evicted-cursor",
    incident: 2,
    title: "the cursor is evicted while the caller is away",
    tool: "report",
    store: { kind: "ring", eventsMax: keptEvents },
    storePhrase: `store of ${keptEvents} events`,
    serveOptions: ["--max-events", String(keptEvents)],
    ownServeOptions: ["--max-events", String(keptEvents)],
    disturb: async ({ reportWaits, cutAll, letReportGoOn }) => {
      await reportWaits;
      cutAll();
      await letReportGoOn();
    },
  },
];
