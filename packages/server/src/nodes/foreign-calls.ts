/**
 * Calls of an owned session that came to other nodes: each noted when its stream was opened there,
 * so that it can be cancelled, and begun once that node has its first byte out [C E-05].
 *
 *     noted ──go──▶ begun          noted ──drop──▶ cancelled      noted, its node is gone ──▶ unknown
 */
import type { KeyClaim, NodeId } from "@holdfast/log";
import { unknownOutcome } from "../answers.ts";
import type { Incoming } from "../incoming.ts";
import { readIncoming } from "../incoming.ts";
import type { Session } from "../session.ts";
import type { OpenedCall, OpenedCalls } from "../session-calls.ts";
import type { ForwardedHeaders } from "../upstream.ts";

export interface ForeignPost {
  readonly stream: number;
  readonly from: NodeId;
  readonly startedAtMs: number;
  readonly messages: readonly string[];
  readonly waitsFor: KeyClaim | undefined;
  readonly headers: ForwardedHeaders;
}

interface Noted {
  readonly from: NodeId;
  readonly messages: readonly Incoming[];
  readonly calls: OpenedCalls["calls"];
  readonly waitsFor: KeyClaim | undefined;
  readonly headers: ForwardedHeaders;
  /** Its node was not among those that live, when they were asked for once. */
  isMissing: boolean;
}

/** Let a call wait for the one that holds its key. */
export type WaitForKey = (
  call: OpenedCall,
  claim: KeyClaim,
  headers: ForwardedHeaders,
) => Promise<void>;

export class ForeignCalls {
  readonly #session: Session;
  readonly #waitForKey: WaitForKey;
  readonly #noted = new Map<number, Noted>();

  constructor(session: Session, waitForKey: WaitForKey) {
    this.#session = session;
    this.#waitForKey = waitForKey;
  }

  note({ stream, from, startedAtMs, messages: texts, waitsFor, headers }: ForeignPost): void {
    const messages = texts.map(read);
    const requests = messages.filter((message) => message.kind === "request");
    const calls = this.#session.calls.take(requests, stream, startedAtMs);
    this.#noted.set(stream, { ...{ from, messages, calls, waitsFor, headers }, isMissing: false });
  }

  begin(stream: number): void {
    const noted = this.#noted.get(stream);
    if (noted === undefined) return;
    this.#noted.delete(stream);
    for (const message of noted.messages) {
      if (message.kind === "notification") this.#session.notify(message);
      else if (message.kind === "response") this.#session.answer(message);
    }
    const [first] = noted.calls;
    if (noted.waitsFor === undefined) this.#session.calls.deliver(noted, noted.headers);
    else if (first !== undefined) void this.#waitForKey(first, noted.waitsFor, noted.headers);
  }

  drop(stream: number): void {
    for (const { call } of this.#noted.get(stream)?.calls ?? []) {
      this.#session.calls.withdraw(call);
    }
    this.#noted.delete(stream);
  }

  /**
   * Streams whose node is gone, for sure: an answer that was on its way when the calls were noted may
   * be older than the node, one that was asked for after it is not.
   */
  missing(isAlive: (node: NodeId) => boolean): readonly number[] {
    const missing: number[] = [];
    for (const [stream, noted] of this.#noted) {
      if (isAlive(noted.from)) continue;
      if (noted.isMissing) missing.push(stream);
      noted.isMissing = true;
    }
    return missing;
  }

  /** [C X-05] Nobody waits for a node that is gone and never said that they may begin. */
  giveUp(streams: readonly number[]): void {
    for (const stream of streams) {
      for (const { call } of this.#noted.get(stream)?.calls ?? []) {
        this.#session.calls.settle(call, (place) => unknownOutcome(place, "owner-lost"));
      }
      this.#noted.delete(stream);
    }
  }

  /** @returns false when no such calls wait here */
  has(stream: number): boolean {
    return this.#noted.has(stream);
  }
}

/** What the node that took it has checked already. */
function read(text: string): Incoming {
  const message = readIncoming(text, JSON.parse(text));
  if (message.kind === "invalid") throw new Error(`an entry holds no message: ${message.problem}`);
  return message;
}
