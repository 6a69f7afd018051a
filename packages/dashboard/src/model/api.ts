/** What the JSON API of the admin port says; the gateway answers so, page and command read it. */
import type { FeedItem } from "./feed.ts";
import type { StreamFacts } from "./timeline.ts";

export type SessionActivity = "active" | "attached" | "idle" | "resting" | "ended";

export interface SessionRow {
  readonly tag: string;
  readonly principal: string;
  readonly client?: string;
  readonly version?: string;
  readonly createdAtMs: number;
  readonly activity: SessionActivity;
  readonly calls: number;
  readonly viewports: number;
}

/** GET /api/sessions */
export interface SessionsAnswer {
  readonly sessions: readonly SessionRow[];
  readonly isCut: boolean;
  /** Event id of the feed: who reads on from there misses nothing. */
  readonly cursor: string;
}

/** GET /api/sessions/NAME */
export interface SessionAnswer {
  readonly session: SessionRow & { readonly streams: readonly StreamFacts[] };
  /** What the feed still has of it, oldest first. */
  readonly history: readonly FeedItem[];
  readonly cursor: string;
}

/** GET /api/sessions/NAME/streams/N/events?after=P */
export interface EventsAnswer {
  readonly events: readonly {
    readonly position: number;
    readonly kind: string;
    readonly bytes: number;
    /** With `--show-bodies` alone. */
    readonly text?: string;
  }[];
}

/** GET /api/overview; times in milliseconds. */
export interface OverviewAnswer {
  readonly version: string;
  readonly url: string;
  readonly log: string;
  readonly startedAtMs: number;
  readonly nowMs: number;
  readonly isReady: boolean;
  readonly isDraining: boolean;
  readonly showsBodies: boolean;
  readonly sessions: number | null;
  readonly viewports: number;
  readonly callsInFlight: number;
  readonly windowMs: number;
  readonly horizonMs: number;
  readonly headroomMs: number;
  /** What clients were declared to need, at worst. */
  readonly clientReconnectMs: number;
  readonly reconnects: {
    readonly count: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly p999Ms: number;
    readonly maxMs: number;
  };
  readonly eventsAppended: number;
  readonly eventsReplayed: number;
  readonly calls: number;
  readonly breaches: number;
  readonly unknownOutcomes: number;
  readonly takeovers: number;
  readonly logErrors: number;
  readonly resumes: Readonly<Record<string, number>>;
  readonly sessionsCreated: number;
  readonly sessionsEnded: Readonly<Record<string, number>>;
}
