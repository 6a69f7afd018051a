/**
 * What the acceptance suite needs of an HTTP face: a way to serve a session runtime behind it.
 *
 * The types repeat the shape of the runtime's own: the testkit imports nothing that it tests.
 */
import type { Retention } from "@holdfast/contract";

/** Options of the session runtime; its defaults stand for what is left out. */
export interface FaceOptions {
  readonly path?: string | undefined;
  readonly retention?: Retention;
  readonly idleTtlMs?: number;
  readonly clientReconnectMs?: number;
  readonly heartbeatMs?: number;
  readonly retryMs?: number;
  readonly viewportMaxMs?: number;
  readonly gapSignal?: "auto" | "status" | "in-band";
  readonly noPrime?: readonly string[];
  readonly allowedOrigins?: readonly string[];
  readonly allowedHosts?: readonly string[];
  readonly bodyBytesMax?: number;
  readonly sessionsMax?: number;
  readonly sessionsPerPrincipalMax?: number;
  readonly streamsPerSessionMax?: number;
  readonly callsPerSessionMax?: number;
  readonly viewportsMax?: number;
  readonly idempotencyTtlMs?: number;
  readonly ledgerBytesMax?: number;
  readonly sharesKeys?: boolean;
  readonly hibernateMs?: number;
  readonly storePatienceMs?: number;
}

export type FaceAuthentication =
  | { readonly kind: "principal"; readonly principal: string }
  | { readonly kind: "refused"; readonly challenge: string; readonly message: string }
  | { readonly kind: "unavailable"; readonly message: string };

/** Tells who makes a request. */
export type FaceAuthenticate = (request: {
  header(name: string): string | undefined;
}) => FaceAuthentication | Promise<FaceAuthentication>;

export interface FaceClock {
  monotonicMs(): number;
  wallMs(): number;
}

export type LogKind = "memory" | "sqlite";

/** One MCP server behind a session, as the runtime sees it. */
export interface FaceUpstream {
  send(text: string): Promise<void>;
  close(): Promise<void>;
}

export interface FaceUpstreamEvents {
  onMessage(text: string, related?: number | null): Promise<void> | undefined;
  onLetGo(related: number | null): void;
  onOversized(message: {
    readonly idJson: string | undefined;
    readonly bytes: number;
    readonly bytesMax: number;
  }): void;
  onExit(reason: string): void;
}

export interface FaceUpstreamFactory {
  start(session: { readonly tag: string }, events: FaceUpstreamEvents): Promise<FaceUpstream>;
}

export interface FaceLogger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** Where a test steps in between the runtime and its event log. */
export interface LogGate {
  /** Awaited before each commit takes effect, in their order; a rejection is the commit's own. */
  readonly beforeCommit?: (ops: readonly { readonly op: string }[]) => Promise<void> | undefined;
  /** Awaited after each commit took effect; a rejection loses its reply. */
  readonly afterCommit?: (ops: readonly { readonly op: string }[]) => Promise<void> | undefined;
  /** Awaited after each read, before its outcome is handed on. */
  readonly afterRead?: () => Promise<void> | undefined;
}

export interface FaceParts {
  readonly options: FaceOptions;
  readonly upstream: FaceUpstreamFactory;
  readonly logger: FaceLogger;
  /** The system's own when left out. */
  readonly clock?: FaceClock;
  /** Who makes a request; without it, everyone is the same principal. */
  readonly authenticate?: FaceAuthenticate;
  /** Which event log the runtime gets; a fresh and empty one. */
  readonly log: LogKind;
  readonly logGate?: LogGate;
}

/** `crash`: the runtime is dropped where it stands; nothing that it still does reaches the log. */
export type Stop = "close" | "crash";

export interface ServedFace {
  /** Of the MCP endpoint, on 127.0.0.1. */
  readonly url: string;
  /** Events that the runtime counted as evicted inside their window [C W-04]. */
  breachCount(): number;
  /** Sessions that the runtime holds in memory. */
  sessionCount(): number;
  /** Refuse new work until what runs is over. @returns the calls that still ran at the deadline */
  drain(timeoutMs: number): Promise<number>;
  /** Stop the runtime, and serve another on the same log, at the same URL. */
  restart(stop: Stop, changes?: Partial<Omit<FaceParts, "log">>): Promise<void>;
  /** Stop serving, and close the runtime. */
  close(): Promise<void>;
}

export interface Face {
  /** As it stands in the names of tests: `node`, `fetch`. */
  readonly name: string;
  serve(parts: FaceParts): Promise<ServedFace>;
}
