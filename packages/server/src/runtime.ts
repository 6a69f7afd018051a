/**
 * The session runtime: log, upstreams and HTTP faces wired together.
 *
 *     created ──ready──▶ serving ──drain──▶ draining ──close──▶ closed
 */
import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { checkRetention, HoldfastError, resumeCapability } from "@holdfast/contract";
import type { Clock, EventLog, Eviction, SessionId } from "@holdfast/log";
import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import type { Authenticate } from "./authentication.ts";
import { HeldText } from "./held-text.ts";
import type { Endpoint } from "./http/endpoint.ts";
import { fetchReply, fetchRequest, type RequestFacts } from "./http/fetch.ts";
import { handle } from "./http/handler.ts";
import { nodeReply, nodeRequest, type ServedMessage } from "./http/node.ts";
import { keyScopeOf } from "./idempotency/key-scope.ts";
import { inspection, type SessionInspection } from "./inspection.ts";
import { storeLeaseMs } from "./nodes/membership.ts";
import { bounds, defaultOptions, type RuntimeOptions } from "./options.ts";
import {
  type Logger,
  type RuntimeContext,
  silentLogger,
  ViewportCount,
} from "./runtime-context.ts";
import { Sessions } from "./sessions.ts";
import { Breaches, sweeping } from "./sweeping.ts";
import type { Observe } from "./telemetry/marks.ts";
import { type RuntimeFacts, Telemetry } from "./telemetry/telemetry.ts";
import type { UpstreamFactory } from "./upstream.ts";
import { within } from "./within.ts";

export interface RuntimeParts {
  readonly log: EventLog;
  readonly upstream: UpstreamFactory;
  readonly options?: Partial<RuntimeOptions>;
  /** Who makes a request; without it, everyone is the same principal. */
  readonly authenticate?: Authenticate;
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Makes session ids: visible ASCII, at least 128 random bits [C S-09]. */
  readonly newSessionId?: () => SessionId;
  /**
   * Where metrics and spans go; by default to the providers that are registered with
   * `@opentelemetry/api` when the runtime is made, which without an SDK is nowhere. Runtimes of one
   * process that are to be told apart get a provider each.
   */
  readonly meterProvider?: MeterProvider;
  readonly tracerProvider?: TracerProvider;
  /** Told of everything that happens in sessions, as it happens. */
  readonly observe?: Observe;
}

export interface SessionRuntime {
  /** The endpoint as a `node:http` request listener. */
  readonly node: (req: ServedMessage, res: ServerResponse) => void;
  /** The endpoint in the fetch style. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same for a request of which something is known already: who makes it, its parsed body. */
  readonly handleRequest: (request: Request, facts: RequestFacts) => Promise<Response>;
  /**
   * Resolves when the log is open; requests wait for it by themselves.
   *
   * @throws {@link LogError} what opening the log throws
   */
  ready(): Promise<void>;
  /** Sessions that this process holds in memory. */
  sessionCount(): number;
  /** Calls that run. */
  callCount(): number;
  /** Open responses. */
  viewportCount(): number;
  /** Evictions inside the window so far [C W-04]. */
  breachCount(): number;
  /** Sessions for their operator to look at, in memory or not. */
  readonly inspection: SessionInspection;
  /** What the metrics say, at this moment. */
  facts(): RuntimeFacts;
  /** Whether new work would be taken now. */
  health(): Promise<RuntimeHealth>;
  /**
   * [C D-02] Refuse new work, and let what runs come to its end; resumes are served all the while.
   *
   * @returns how many calls were still running at the deadline
   */
  drain(timeoutMs: number): Promise<number>;
  /**
   * Let go of viewports and upstreams and close the log. No session ends by it: the next process
   * on the same log goes on.
   */
  close(): Promise<void>;
}

export interface RuntimeHealth {
  readonly isDraining: boolean;
  /** The log answers, and what was written last went through. */
  readonly isLogReady: boolean;
}

const systemClock: Clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };

/**
 * Put sessions that survive disconnects in front of upstreams.
 *
 * @throws {@link HoldfastError} `ERR_RETENTION` for a window that clients could miss [C W-02]
 */
export function createSessionRuntime(parts: RuntimeParts): SessionRuntime {
  const options = { ...defaultOptions, ...parts.options };
  const verdict = checkRetention({ ...options, windowMs: options.retention.windowMs });
  if (!verdict.ok) throw new HoldfastError("ERR_RETENTION", verdict.message);
  const { log } = parts;
  const context = contextOf(parts, options);
  const { logger, clock } = context;
  const sessions = new Sessions(context);
  const breaches = new Breaches(logger);
  const { telemetry } = context;
  telemetry.start({
    sessions: () => log.liveSessions(),
    callsInFlight: () => sessions.callsInFlight,
    viewports: () => context.viewports.count,
    leases: () => (log.shared === undefined ? 0 : sessions.size),
  });
  const onEvicted = (eviction: Eviction) => {
    telemetry.evicted(eviction);
    if (eviction.isBreach) breaches.add(eviction);
    sessions.onEvicted(eviction.session, eviction.stream, eviction.through);
  };
  let isDraining = false;
  const endpoint: Endpoint = {
    context,
    sessions,
    access: { hosts: options.allowedHosts, origins: options.allowedOrigins },
    authenticate: parts.authenticate,
    isDraining: () => isDraining,
  };
  let opened: Promise<void> | undefined;
  const sweeps = sweeping(log, sessions, options, logger);
  const ready = () => {
    const { retention, idempotencyTtlMs, ledgerBytesMax } = options;
    const leaseMs = storeLeaseMs(options.leaseMs);
    const askedAtMs = clock.monotonicMs();
    const kept = { retention, idempotencyTtlMs, ledgerBytesMax };
    opened ??= log.open({ ...kept, clock, onEvicted, leaseMs }).then(() => {
      sessions.nodes?.start(askedAtMs);
      for (const sweep of sweeps) sweep.start();
    });
    return opened;
  };
  const release = (which: "standalone" | "all") => {
    for (const viewports of sessions.viewports()) {
      viewports.release(which, () => jittered(options.retryMs));
    }
  };
  const handleRequest = async (request: Request, facts: RequestFacts = {}) => {
    await ready();
    const reply = fetchReply(request);
    const handled = handle(endpoint, fetchRequest(request, facts), reply);
    return Promise.race([reply.response, handled.then(() => reply.response)]);
  };
  const viewportsOver = (which: "calls" | "all") =>
    Promise.all(sessions.viewports().map((viewports) => viewports.over(which)));
  return {
    node: (req, res) => {
      ready()
        .then(() => handle(endpoint, nodeRequest(req), nodeReply(req, res)))
        .catch((error: unknown) => {
          logger.error({ error }, "a request failed");
          res.destroy();
        });
    },
    // Hosts in the fetch style pass more than a request: what it is, is theirs alone.
    fetch: (request) => handleRequest(request),
    handleRequest,
    ready,
    sessionCount: () => sessions.size,
    callCount: () => sessions.callsInFlight,
    viewportCount: () => context.viewports.count,
    breachCount: () => breaches.count,
    inspection: inspection(context, sessions),
    facts: () => telemetry.facts(),
    health: async () => ({
      isDraining,
      // [C N-05] a node whose lease is in doubt serves nothing, whatever the store answers.
      isLogReady: sessions.isServing && (await isLogReady(log, telemetry)),
    }),
    drain: async (timeoutMs) => {
      isDraining = true;
      release("standalone");
      // "viewports … of running calls after their response": a call is over before that is shown.
      const over = Promise.all([sessions.allCallsOver(), sessions.nodes?.passOn()]);
      await within(
        timeoutMs,
        over.then(() => viewportsOver("calls")),
      );
      return sessions.callsInFlight;
    },
    close: async () => {
      isDraining = true;
      for (const sweep of sweeps) sweep.stop();
      breaches.stop();
      telemetry.stop();
      release("all");
      // What they still say, they read from the log.
      await within(bounds.lingerMs, viewportsOver("all"));
      await Promise.all(sessions.all().map((session) => session.suspend()));
      sessions.nodes?.stop();
      await opened?.catch(() => undefined);
      await log.close();
    },
  };
}

/** A log that is out of reach may as well not answer at all. */
async function isLogReady(log: EventLog, telemetry: Telemetry): Promise<boolean> {
  const answered = log.liveSessions().then(
    () => true,
    () => false,
  );
  if (!(await within(bounds.healthMs, answered))) return false;
  return (await answered) && !telemetry.isLogFailing;
}

function contextOf(parts: RuntimeParts, options: RuntimeOptions): RuntimeContext {
  const scope = keyScopeOf(parts.authenticate !== undefined, options.sharesKeys);
  const idempotency = { ttlMs: options.idempotencyTtlMs, scope };
  const clock = parts.clock ?? systemClock;
  const { meterProvider, tracerProvider, observe } = parts;
  const { windowMs } = options.retention;
  return {
    log: parts.log,
    newSessionId: parts.newSessionId ?? randomSessionId,
    upstream: parts.upstream,
    options,
    logger: parts.logger ?? silentLogger,
    clock,
    telemetry: new Telemetry({ clock, windowMs, meterProvider, tracerProvider, observe }),
    capability: resumeCapability({ ...options, durability: parts.log.durability, idempotency }),
    keyScope: scope,
    held: new HeldText(),
    viewports: new ViewportCount(options.viewportsMax),
  };
}

/** [C S-09] 192 random bits, visible ASCII. */
function randomSessionId(): SessionId {
  return randomBytes(24).toString("base64url") as SessionId;
}

/** [C D-02] "jittered": between one and two times, so that clients do not come back as one. */
function jittered(retryMs: number): number {
  return Math.round(retryMs * (1 + Math.random()));
}
