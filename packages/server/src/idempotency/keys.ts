/**
 * Calls under an idempotency key: the first runs, every repetition gets its outcome [C X-03].
 *
 * The claim is made in the log, in the same step in which the call is opened; what this file keeps
 * in memory is only which running call a claim means.
 *
 *     open with claim ──opened──▶ runs
 *          │ claimed
 *          ├─ other payload ──▶ reuse
 *          ├─ unknown, safe to repeat ──▶ open with claim again, taking it over
 *          └─ else: open without ──▶ wait for the running call, or answer at once
 */
import { replaceAt } from "@holdfast/contract";
import type { Claim, KeyClaim, SessionId } from "@holdfast/log";
import { responseTo, unknownOutcome } from "../answers.ts";
import type { InFlightCall } from "../calls.ts";
import type { IncomingRequest } from "../incoming.ts";
import { followClaim } from "../nodes/follow-claim.ts";
import type { Found } from "../nodes/node-sessions.ts";
import { bounds } from "../options.ts";
import type { RuntimeContext } from "../runtime-context.ts";
import type { Session } from "../session.ts";
import {
  CallsNotOpened,
  type OpenedCall,
  type OpenedCalls,
  type OpenOutcome,
} from "../session-calls.ts";
import type { ForwardedHeaders } from "../upstream.ts";
import { within } from "../within.ts";
import { payloadDigest } from "./payload.ts";

export type KeyedOutcome =
  /** A new stream; `isNew`: its call has to be delivered. */
  | { readonly kind: "opened"; readonly opened: OpenedCalls; readonly isNew: boolean }
  /** The key belongs to another payload. */
  | { readonly kind: "reuse" }
  /** The payload is nested too deeply to be compared. */
  | { readonly kind: "deep" }
  | Exclude<OpenOutcome, OpenedCalls | { readonly kind: "claimed" }>;

interface Running {
  readonly session: Session;
  readonly call: InFlightCall;
  /** Set once the call is over; resolves when its outcome is in the log. */
  isLogged: Promise<unknown> | undefined;
}

/** A call that the log did not take, or took without saying so: it certainly did not run. */
interface Undelivered {
  readonly session: Session;
  /**
   * Resolves when the log holds its key no more, or as that of a call that is over: with the number
   * of its stream.
   */
  readonly undone: Promise<number | undefined>;
}

/** What keys need to know of sessions. */
export interface KeysHost {
  /** See to it that somebody runs a session, or closes what nobody runs. */
  restore(session: SessionId): Promise<Found>;
  /** A session that another node runs is waited for. @returns says that it is no more, once */
  want(session: SessionId): () => void;
}

export class Keys {
  readonly #context: RuntimeContext;
  readonly #host: KeysHost;
  /** Calls of sessions that this process alone runs, by their keys. */
  readonly #running = new Map<string, Running>();
  /** The newest last; the oldest are forgotten: their keys answer that the outcome is unknown. */
  readonly #undelivered = new Map<string, Undelivered>();

  constructor(context: RuntimeContext, host: KeysHost) {
    this.#context = context;
    this.#host = host;
  }

  /** Where a session may move to another node, a call is found by what the log has of it alone. */
  get #isAlone(): boolean {
    return this.#context.log.shared === undefined;
  }

  /**
   * Open a keyed request, as a call that runs or as one that waits for the call with its key.
   *
   * @param scope - whose keys these are
   * @throws what the log throws: nothing ran
   */
  async open(
    session: Session,
    request: IncomingRequest,
    scope: string,
    key: string,
  ): Promise<KeyedOutcome> {
    const digest = payloadDigest(request.method, request.text);
    if (digest === undefined) return { kind: "deep" };
    const claim: KeyClaim = { scope, key, digest, isRerun: false };
    const first = await this.#claim(session, request, claim);
    if (first.kind !== "claimed") return first;
    const { telemetry } = this.#context;
    if (first.claim.digest !== digest) {
      telemetry.idempotentHit("conflict");
      return { kind: "reuse" };
    }
    const isUndelivered = await this.#isUndelivered(first.claim, claim);
    const held = await this.#settled(first.claim, claim);
    const isUnknown = held.outcome.kind === "unknown";
    const mayRun = () => isUndelivered || session.isRepeatable(request.method, request.name);
    if (isUnknown && (await mayRun())) {
      const again = await this.#claim(session, request, { ...claim, isRerun: true });
      // Of two that take it over at once, the second waits for the first.
      if (again.kind !== "claimed") return again;
    }
    return this.#attach(session, request, claim);
  }

  /**
   * Give a call what another has, or gets, under its key; its stream was opened by another node,
   * which found that the key was claimed. Never rejects.
   */
  serve(
    session: Session,
    opened: OpenedCall,
    claim: KeyClaim,
    headers: ForwardedHeaders,
  ): Promise<void> {
    return this.#untilServed(session, opened.call, () =>
      this.#serve(session, opened, claim, headers),
    );
  }

  async #serve(
    session: Session,
    { call, request }: OpenedCall,
    claim: KeyClaim,
    headers: ForwardedHeaders,
  ): Promise<void> {
    const { scope, key } = claim;
    const first = await this.#context.log.claim(scope, key);
    const held = first && (await this.#settled(first, claim));
    const isUnknown = held?.outcome.kind === "unknown";
    if (isUnknown && (await session.isRepeatable(request.method, request.name))) {
      // It runs on a stream that nobody shows; this call gets its outcome as any other would.
      const again = await this.#claim(session, request, { ...claim, isRerun: true });
      if (again.kind === "opened") session.calls.deliver(again.opened, headers);
    }
    await this.#give(session, call, claim);
  }

  /**
   * Ask until the store answers, as long as the call is this session's to answer: its stream is open,
   * and nobody else would ever tell its caller [C X-05].
   */
  async #untilServed(
    session: Session,
    call: InFlightCall,
    serve: () => Promise<void>,
  ): Promise<void> {
    for (let pauseMs: number = bounds.commitRetryMs; ; pauseMs *= 2) {
      try {
        return await serve();
      } catch (error) {
        const isWaiting = session.calls.inFlight.get(call.number) === call;
        if (session.isOver || session.isAbandoned || !isWaiting) return;
        const { logger } = this.#context;
        logger.warn({ session: session.tag, error }, "a call waits for the log to know its key");
      }
      const waitMs = Math.min(pauseMs, bounds.commitRetryMaxMs);
      await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
    }
  }

  /** The claim, once a call that an earlier process ran is closed. */
  async #settled(held: Claim, claim: KeyClaim): Promise<Claim> {
    if (held.outcome.kind !== "running" || this.#running.has(nameOf(claim))) return held;
    const found = await this.#host.restore(held.session);
    const session = found.kind === "own" ? found.own.session : undefined;
    const call = session?.calls.inFlight.at(held.stream, held.call);
    // It goes on, since its upstream outlived the process.
    const isOn = call !== undefined && !this.#running.has(nameOf(claim)) && this.#isAlone;
    if (session !== undefined && isOn) this.#note(session, call, nameOf(claim));
    return (await this.#context.log.claim(claim.scope, claim.key)) ?? held;
  }

  async #claim(
    session: Session,
    request: IncomingRequest,
    claim: KeyClaim,
  ): Promise<KeyedOutcome | { readonly kind: "claimed"; readonly claim: Claim }> {
    const outcome = await session.calls.open([request], { claim }).catch((error: unknown) => {
      if (error instanceof CallsNotOpened) this.#noteUndelivered(session, claim, error);
      throw error;
    });
    if (outcome.kind !== "opened") return outcome;
    this.#undelivered.delete(nameOf(claim));
    const [only] = outcome.calls;
    if (only !== undefined && this.#isAlone) this.#note(session, only.call, nameOf(claim));
    return { kind: "opened", opened: outcome, isNew: true };
  }

  #noteUndelivered(session: Session, claim: KeyClaim, { undone }: CallsNotOpened): void {
    const name = nameOf(claim);
    this.#undelivered.delete(name);
    this.#undelivered.set(name, { session, undone });
    if (this.#undelivered.size <= bounds.undeliveredMax) return;
    for (const oldest of this.#undelivered.keys()) {
      this.#undelivered.delete(oldest);
      return;
    }
  }

  /**
   * Whether a claim is that of a call which was refused because the log did not take it: what
   * became of it there is known when this resolves.
   *
   * @throws Error when that cannot be found out now
   */
  async #isUndelivered(held: Claim, claim: KeyClaim): Promise<boolean> {
    const call = this.#undelivered.get(nameOf(claim));
    if (call?.session.id !== held.session) return false;
    if (await within(bounds.undoneWaitMs, call.undone)) return (await call.undone) === held.stream;
    throw new Error("the store has not yet said what became of a refused call");
  }

  #note(session: Session, call: InFlightCall, name: string): void {
    const running: Running = { session, call, isLogged: undefined };
    this.#running.set(name, running);
    call.onOver = (isLogged) => {
      running.isLogged = isLogged;
      void isLogged.finally(() => {
        if (this.#running.get(name) === running) this.#running.delete(name);
      });
    };
  }

  /** A stream of the caller's own, with what the key's call gives. */
  async #attach(
    session: Session,
    request: IncomingRequest,
    claim: KeyClaim,
  ): Promise<KeyedOutcome> {
    const outcome = await session.calls.open([request]);
    // Without a claim it cannot be refused for one.
    if (outcome.kind === "claimed") throw new Error("a call without a key was refused for one");
    if (outcome.kind !== "opened") return outcome;
    const [only] = outcome.calls;
    if (only !== undefined) await this.#give(session, only.call, claim);
    return { kind: "opened", opened: outcome, isNew: false };
  }

  async #give(session: Session, call: InFlightCall, claim: KeyClaim): Promise<void> {
    // Cancelled meanwhile, or over with its session: nobody waits for it.
    if (session.calls.inFlight.get(call.number) !== call) return;
    const running = this.#running.get(nameOf(claim));
    if (running !== undefined && running.isLogged === undefined) {
      this.#context.telemetry.idempotentHit("attach");
      session.calls.join(call, running.session.calls, running.call);
      return;
    }
    this.#context.telemetry.idempotentHit("replay");
    await running?.isLogged;
    const held = await this.#context.log.claim(claim.scope, claim.key);
    if (held?.outcome.kind === "running" && !this.#isAlone) {
      const unwant = this.#host.want(held.session);
      followClaim({ log: this.#context.log, session, call, held }, () => {
        unwant();
        void this.#untilServed(session, call, () => this.#give(session, call, claim));
      });
      return;
    }
    if (held?.outcome.kind === "answered") {
      const answer = replaceAt(held.outcome.text, ["id"], call.id);
      session.calls.settle(call, (place) => responseTo(place, answer));
      return;
    }
    // Nobody runs it, and nobody will: [C X-05].
    const reason = held?.outcome.kind === "unknown" ? held.outcome.reason : "process-restarted";
    const { startedAtMs } = held?.request ?? call;
    session.calls.settle(call, (place) => unknownOutcome({ ...place, startedAtMs }, reason));
  }
}

function nameOf({ scope, key }: KeyClaim): string {
  return `${scope} ${key}`;
}
