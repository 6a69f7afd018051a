/**
 * The session's side towards its upstream: what goes there under which number, and where what comes
 * from there belongs. It writes nothing by itself; its host appends.
 */

import {
  elementsOf,
  numbered,
  type OutcomeUnknownReason,
  replaceAt,
  standaloneStream,
} from "@holdfast/contract";
import type { StreamState } from "@holdfast/log";
import { type AppendOp, unfetchedQuestion } from "./answers.ts";
import type { InFlightCall, InFlightCalls } from "./calls.ts";
import { bounds } from "./options.ts";
import { Questions } from "./questions.ts";
import { type Question, type Route, route } from "./routing.ts";
import type { RuntimeContext } from "./runtime-context.ts";
import type { SessionData } from "./session-data.ts";
import { replaySetup } from "./setup-journal.ts";
import type { ForwardedHeaders, Upstream, UpstreamEnd, UpstreamSession } from "./upstream.ts";
import { UpstreamLink } from "./upstream-link.ts";
import { within } from "./within.ts";

export interface DeskHost extends Omit<UpstreamSession, "kept" | "setup"> {
  readonly calls: InFlightCalls;
  data(): SessionData;
  /** Append to a stream; `onDone` is told the position. */
  append(op: AppendOp, onDone?: (position: number) => void): void;
  /** A promise while the log is behind. */
  room(): Promise<void> | undefined;
  /** A call was answered; the text has the upstream's number as its id. */
  onResponse(call: InFlightCall, text: string): void;
  /** A call will not be answered, and may have run [C X-05]. */
  onUnknown(call: InFlightCall, reason: OutcomeUnknownReason): void;
  /** What `run` puts in the log is put there at once, or not at all. */
  together<T>(run: () => T): T;
  /** A call was answered by something that is no JSON-RPC. */
  onUnusable(call: InFlightCall, why: string): void;
  /** A call's answer was too large to be passed on. */
  onOversized(call: InFlightCall, bytes: number, bytesMax: number): void;
  /** The reader of a stream may go [C E-11]. */
  letGo(stream: number): void;
  /** What tools there are has changed. */
  onToolsChanged(): void;
  /** The upstream is gone, or could not be had. */
  onLost(outcome: OutcomeUnknownReason): void;
  /** The upstream would not be restored [C S-07]. */
  onRefused(): void;
}

export class UpstreamDesk {
  readonly #host: DeskHost;
  readonly #context: RuntimeContext;
  readonly #questions = new Questions();
  readonly #link: UpstreamLink;
  /** Requests of our own: their answers go no further. */
  readonly #own = new Map<number, (answer: string | undefined) => void>();
  /** Calls of an earlier process, until the upstream says whether it has them. */
  #restored: readonly InFlightCall[] = [];

  constructor(host: DeskHost, context: RuntimeContext) {
    this.#host = host;
    this.#context = context;
    const session = (): UpstreamSession => {
      const { id, tag, principal, keep, headers } = host;
      const setup = host.data();
      return { id, tag, principal, setup, kept: setup.upstream?.kept, keep, headers };
    };
    this.#link = new UpstreamLink(context.upstream, session, context.clock, {
      setUp: (upstream) => this.#setUp(upstream),
      onMessage: (text, related, kept) => this.#receive(text, related, kept),
      onUnknown: (number, reason) => this.#onUnknown(number, reason),
      onLetGo: (related) => this.#onLetGo(related),
      onOversized: (message) => this.#onOversized(message),
      onLost: (reason, outcome) => this.#onLost(reason, outcome),
    });
  }

  /** The upstream does not keep up. */
  get isFull(): boolean {
    return this.#link.isFull;
  }

  /** Requests to the client wait for answers. */
  get hasQuestions(): boolean {
    return this.#questions.all().length > 0;
  }

  /** [C W-03] Look which of them have left the log unnoticed. */
  async reviewQuestions(
    stateOf: (stream: number) => Promise<StreamState | undefined>,
  ): Promise<void> {
    for (const stream of new Set(this.#questions.all().map((question) => question.stream))) {
      const state = await stateOf(stream);
      if (state !== undefined) this.onEvicted(stream, state.evictedThrough);
    }
  }

  /** See to it that an upstream runs. */
  wake(): void {
    this.#link.wake();
  }

  /** See to it that an upstream runs, and that it has these calls of an earlier process. */
  resume(calls: readonly InFlightCall[]): void {
    this.#restored = calls;
    this.wake();
  }

  send(text: string): void {
    this.#link.send(text, this.#host.headers());
  }

  /** Hand a client's request over under its number. */
  sendNumbered(text: string, number: number, headers: ForwardedHeaders): void {
    this.#link.send(numbered(text, number), headers);
  }

  /** [C X-06] An answer of the client; the first one counts, on whatever connection. */
  answer(wireIdJson: string, text: string): void {
    const question = this.#questions.take(wireIdJson);
    if (question !== undefined) this.send(replaceAt(text, ["id"], question.idJson));
  }

  /** [C W-03] Questions in events that left the log are answered to the upstream. */
  onEvicted(stream: number, through: number): void {
    for (const question of this.#questions.takeEvicted(stream, through)) {
      this.#answerEvicted(question);
    }
  }

  #answerEvicted(question: Question): void {
    this.#link.send(unfetchedQuestion(question.idJson));
  }

  /**
   * A request of the gateway itself.
   *
   * @returns the answer, JSON text; undefined when the upstream was lost first, or takes too long
   */
  async ask(method: string, params: object): Promise<string | undefined> {
    const number = this.#host.calls.nextNumber();
    const answer = this.#answerOf(number);
    this.#link.send(JSON.stringify({ jsonrpc: "2.0", id: number, method, params }));
    return (await within(bounds.toolListMs, answer)) ? answer : undefined;
  }

  /** End the upstream; what it was asked stays unanswered. */
  async close(end: UpstreamEnd): Promise<void> {
    this.#forget();
    await this.#link.close(end);
  }

  #receive(text: string, related?: number | null, kept?: string): Promise<void> | undefined {
    if (kept === undefined) return this.#hear(text, related);
    return this.#host.together(() => {
      const room = this.#hear(text, related);
      void this.#host.keep(kept);
      return room;
    });
  }

  #hear(text: string, related: number | null | undefined): Promise<void> | undefined {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#context.logger.warn({ session: this.#host.tag }, "the upstream sent no JSON");
      return undefined;
    }
    if (Array.isArray(value)) {
      for (const [index, { start, end }] of elementsOf(text).entries()) {
        this.#take(this.#route(text.slice(start, end), value[index], related));
      }
    } else {
      this.#take(this.#route(text, value, related));
    }
    return this.#host.room();
  }

  #route(text: string, value: unknown, related: number | null | undefined): Route {
    return route(text, value, this.#host.calls, this.#questions.all(), related);
  }

  #take(taken: Route): void {
    switch (taken.kind) {
      case "response":
        return this.#takeResponse(taken.number, taken.text);
      case "progress":
        return this.#takeProgress(taken.call, taken.text);
      case "request":
        return this.#takeQuestion(taken.stream, taken.idJson, taken.text);
      case "notification":
        if (taken.method === "notifications/tools/list_changed") this.#host.onToolsChanged();
        return this.#host.append(notification(taken.stream, taken.text));
      case "withdrawal":
        this.#questions.take(taken.question.wireIdJson);
        return this.#host.append(notification(taken.question.stream, taken.text));
      case "unusable":
        this.#context.logger.warn(
          { session: this.#host.tag, why: taken.why },
          "no JSON-RPC answer",
        );
        return this.#host.onUnusable(taken.call, taken.why);
      case "dropped":
        this.#context.logger.debug(
          { session: this.#host.tag, why: taken.why },
          "a message of the upstream was dropped",
        );
    }
  }

  #takeResponse(number: number, text: string): void {
    const own = this.#own.get(number);
    if (own !== undefined) return own(text);
    const call = this.#host.calls.get(number);
    if (call !== undefined) this.#host.onResponse(call, text);
  }

  /** [C X-03] Progress goes to everyone who waits for the call and asked for it. */
  #takeProgress(call: InFlightCall, text: string): void {
    const path = ["params", "progressToken"];
    if (call.tokenJson !== undefined) {
      this.#host.append(notification(call.stream, replaceAt(text, path, call.tokenJson)));
    }
    for (const caller of call.attached) {
      if (caller.tokenJson === undefined) continue;
      caller.append(notification(caller.call.stream, replaceAt(text, path, caller.tokenJson)));
    }
  }

  /** [C X-06] The question gets an id that no other upstream of the session can have used. */
  #takeQuestion(stream: number, idJson: string, text: string): void {
    const question = this.#questions.ask(idJson, stream);
    const asked = replaceAt(text, ["id"], question.wireIdJson);
    this.#host.append({ op: "append", kind: "request", stream, text: asked }, (position) => {
      if (!this.#questions.place(question, position)) this.#answerEvicted(question);
    });
  }

  #onUnknown(number: number, reason: OutcomeUnknownReason): void {
    const own = this.#own.get(number);
    if (own !== undefined) return own(undefined);
    const call = this.#host.calls.get(number);
    if (call !== undefined) this.#host.onUnknown(call, reason);
  }

  #onLetGo(related: number | null): void {
    const stream = related === null ? standaloneStream : this.#host.calls.get(related)?.stream;
    if (stream !== undefined) this.#host.letGo(stream);
  }

  #onOversized(message: { idJson: string | undefined; bytes: number; bytesMax: number }): void {
    this.#context.telemetry.eventOversized();
    const { idJson, bytes, bytesMax } = message;
    this.#context.logger.warn(
      { session: this.#host.tag, bytes, bytesMax },
      "a message was too large",
    );
    const call = this.#host.calls.get(idJson === undefined ? undefined : Number(idJson));
    if (call !== undefined) this.#host.onOversized(call, bytes, bytesMax);
  }

  #onLost(reason: string, outcome: OutcomeUnknownReason): void {
    this.#context.logger.warn({ session: this.#host.tag, reason }, "the upstream is gone");
    this.#forget();
    this.#host.onLost(outcome);
  }

  #forget(): void {
    this.#questions.clear();
    for (const answer of [...this.#own.values()]) answer(undefined);
  }

  /** [C S-07] A fresh upstream hears what the first one heard; its answers are swallowed. */
  async #setUp(upstream: Upstream): Promise<void> {
    for (const call of this.#restored) {
      if (upstream.holds?.(call.number) !== true) this.#host.onUnknown(call, "process-restarted");
    }
    this.#restored = [];
    const data = this.#host.data();
    if (data.version === undefined) return;
    const isRestored = await replaySetup(data, upstream, {
      nextNumber: () => this.#host.calls.nextNumber(),
      answerOf: (number) => this.#answerOf(number),
    });
    if (!isRestored) this.#host.onRefused();
  }

  #answerOf(number: number): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#own.set(number, (answer) => {
        this.#own.delete(number);
        resolve(answer);
      });
    });
  }
}

function notification(stream: number, text: string): AppendOp {
  return { op: "append", kind: "notification", stream, text };
}
