/** The options of the transport, with their defaults; wrong ones are refused at construction. */

import {
  defaultReconnectPolicy,
  type ReconnectPolicy,
  type RequestId,
  worstCaseReconnectMs,
} from "@holdfast/contract";
import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import type { ContractReport, Gap, Parked, SessionEnded, UnknownOutcome } from "./app-events.ts";
import { ClientError } from "./client-errors.ts";
import type { ClientState, StateChange } from "./state/client-state.ts";
import { memoryState } from "./state/memory-state.ts";
import { ClientTelemetry } from "./telemetry.ts";

/** As of the SDKs, so that their middleware (OAuth among it) fits around it. */
export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>;

export type Headers = Readonly<Record<string, string>>;

export interface ResumableClientOptions {
  /** Where sessions, cursors and calls are kept; default `memoryState()`. */
  readonly state?: ClientState;
  readonly fetch?: FetchLike;
  /** Sent with every request; a function is asked before each one. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
  /** [C K-04] what is left out is as `defaultReconnectPolicy`. */
  readonly reconnect?: Partial<ReconnectPolicy>;
  /** Where to go on when events are lost and the server leaves the choice [C K-08]. */
  readonly gapRecovery?: "oldest" | "head";
  /** [C K-11] a window that is too short is an error of `connect`, not a warning. */
  readonly strict?: boolean;
  /**
   * [C K-10] What becomes of the calls of an earlier process: an identical call gets their outcome
   * (true, the default), or runs again (false). `by-id`: they are this process's own, under the ids
   * that they had; for who keeps its own ledger, and never uses an id twice.
   */
  readonly reattach?: boolean | "by-id";
  /**
   * Each message of the server as text, in place of `onmessage`; unknown outcomes are told by
   * `onUnknownOutcome` alone.
   *
   * @returns a promise when there is no room: nothing more is read before it resolves
   */
  readonly onText?: (arrival: Arrival) => Promise<void> | undefined;
  /** Events are lost; comes before any later event of that stream [C K-08]. */
  readonly onGap?: (gap: Gap) => void;
  /** A call ended, and nobody knows whether it ran [C X-05]. */
  readonly onUnknownOutcome?: (outcome: UnknownOutcome) => void;
  readonly onSessionEnded?: (ended: SessionEnded) => void;
  readonly onParked?: (parked: Parked) => void;
  readonly onResumed?: () => void;
  /** At connect, and when another server answers later: which guarantees do not hold. */
  readonly onContract?: (report: ContractReport) => void;
  /** Where metrics go; by default to the provider registered with `@opentelemetry/api`, if any. */
  readonly meterProvider?: MeterProvider;
  /** Where spans go; likewise. */
  readonly tracerProvider?: TracerProvider;
  /** For tests: time, chance and limits. */
  readonly internals?: Partial<Internals>;
}

/** A message of the server, as it came. */
export interface Arrival {
  /** JSON, byte for byte but for ids and progress tokens, which are the application's. */
  readonly text: string;
  /** The request on whose stream it came. */
  readonly related: RequestId | undefined;
  /** What the state is told for this message, after this: who keeps both can do so at once. */
  readonly changes: readonly StateChange[];
}

export interface Clock {
  /** Milliseconds; never steps back. */
  monotonicMs(): number;
  /** Milliseconds since 1970. */
  wallMs(): number;
}

export interface Internals {
  readonly clock: Clock;
  /** @returns cancels */
  readonly setTimer: (run: () => void, delayMs: number) => () => void;
  /** 0 ≤ n < 1. */
  readonly random: () => number;
  /** How often a parked transport tries the same session again [C K-05]. */
  readonly probeMs: number;
  /** [C W-02] how long an attempt to resume waits for an answer. */
  readonly connectMs: number;
  /** How long a stream is left open after its response. */
  readonly lingerMs: number;
  /** [C K-15] characters of one event, or of one answer. */
  readonly eventCharsMax: number;
}

/** Every option with a value. */
export interface Settings {
  readonly url: URL;
  readonly state: ClientState;
  readonly fetch: FetchLike;
  readonly headers: () => Headers | Promise<Headers>;
  readonly policy: ReconnectPolicy;
  readonly worstCaseMs: number;
  readonly gapRecovery: "oldest" | "head";
  readonly isStrict: boolean;
  readonly reattach: boolean | "by-id";
  readonly app: AppListeners;
  readonly telemetry: ClientTelemetry;
  readonly internals: Internals;
}

export type AppListeners = Pick<
  ResumableClientOptions,
  | "onGap"
  | "onUnknownOutcome"
  | "onSessionEnded"
  | "onParked"
  | "onResumed"
  | "onContract"
  | "onText"
>;

const defaultInternals: Internals = {
  clock: { monotonicMs: () => performance.now(), wallMs: () => Date.now() },
  setTimer: (run, delayMs) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  random: Math.random,
  probeMs: 60_000,
  connectMs: 10_000,
  lingerMs: 2_000,
  eventCharsMax: 32 * 2 ** 20,
};

/** @throws TypeError for an address or a policy that is none, ClientError `ERR_CLIENT_OPTION` */
export function settle(url: string | URL, options: ResumableClientOptions): Settings {
  const policy = { ...defaultReconnectPolicy, ...options.reconnect };
  const { headers = {}, gapRecovery = "oldest" } = options;
  if (gapRecovery !== "oldest" && gapRecovery !== "head") {
    throw new ClientError("ERR_CLIENT_OPTION", 'gapRecovery must be "oldest" or "head".', {
      seen: String(gapRecovery),
    });
  }
  return {
    url: new URL(url),
    state: options.state ?? memoryState(),
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    headers: typeof headers === "function" ? headers : () => headers,
    policy,
    worstCaseMs: worstCaseReconnectMs(policy),
    gapRecovery,
    isStrict: options.strict ?? false,
    reattach: options.reattach ?? true,
    app: options,
    telemetry: new ClientTelemetry(options),
    internals: { ...defaultInternals, ...options.internals },
  };
}
