/** What POSTs are for: a call of the ledger, or a message that is only to be accepted. */
import { errorCodes, idempotencyHeader } from "@holdfast/contract";
import { tellUnknown } from "../calls/call-ends.ts";
import type { Call } from "../calls/ledger.ts";
import { ClientError } from "../client-errors.ts";
import type { Connection } from "../connection.ts";
import type { HttpAnswer } from "../http/exchange.ts";
import type { PostSubject } from "./post-stream.ts";

export interface CallFacts {
  /** Of an earlier process; null: it was not sent yet, or no id came. */
  readonly cursor: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** The answer has begun. */
  readonly onAccepted: (answer: HttpAnswer) => void;
}

/** The POST of a call, its end reported to the ledger. */
export function callSubject(connection: Connection, call: Call, facts: CallFacts): PostSubject {
  const { ledger } = connection;
  const { body, method, isSafe, isSafeAcross, idempotencyKey } = call.stored;
  const isInitialize = method === "initialize";
  const isInternal = call.caller.kind === "internal";
  const named = idempotencyKey === null ? {} : { [idempotencyHeader]: idempotencyKey };
  return {
    ...{ body, isSafe, isSafeAcross, isHarmless: call.isHarmless, cursor: facts.cursor },
    headers: { ...facts.headers, ...named },
    isOneWay: false,
    isSetup: isInitialize || isInternal,
    // Its own initialize, or whether the stored session is there to answer it.
    isStart: isInternal ? method === "ping" : isInitialize,
    isResumable: !isInitialize,
    isBound: isInternal,
    isKeyed: idempotencyKey !== null,
    wireId: call.wireId,
    trace: call.trace,
    isTold: call.caller.kind === "told",
    prepare: (session) => {
      // [C S-05] each attempt asks for a session of its own.
      if (isInitialize) session.sessionId = null;
      return ledger.note(call, session.key);
    },
    accepted: facts.onAccepted,
    moved: (cursor) => ledger.moved(call, cursor),
    unknown: (reason, isKept, failure) => {
      if (isKept) tellUnknown(connection, call, reason);
      // Nothing is done twice by it: why it failed is of more use than that it may have run.
      else if (isInitialize && !isInternal) ledger.end(call, { kind: "refused", error: failure });
      else ledger.end(call, { kind: "unknown", reason, failure });
    },
    failed: (error, refusal) => {
      // [C K-09] an error for this very request is its answer, whatever the status.
      const said = refusal?.answer?.id === call.wireId ? refusal.answer.error : undefined;
      ledger.end(
        call,
        said === undefined ? { kind: "refused", error } : { kind: "error", error: said },
      );
    },
    tooLarge: (charsMax) => {
      const message = `The answer to ${method} has more than ${charsMax} characters.`;
      const error = new ClientError("ERR_EVENT_TOO_LARGE", message, { needed: charsMax });
      const data = { type: "event-too-large", code: error.code, hint: error.hint };
      ledger.end(call, { kind: "error", error: { code: errorCodes.other, message, data } });
      connection.app.onError(error);
    },
    requestIds: () => (call.caller.kind === "app" ? [call.caller.id] : []),
    over: () => {
      // Its caller was told long ago: nobody is owed anything.
      if (call.caller.kind === "told") ledger.end(call, { kind: "cancelled" });
    },
  };
}

export interface OneWayFacts {
  /** Has a meaning in its own session alone. */
  readonly isBound: boolean;
  /** It makes a session ready. */
  readonly isSetup: boolean;
}

/** A message that is only to be accepted: repeating it does nothing twice. */
export function oneWaySubject(
  { message, text }: { readonly message: object; readonly text?: string | undefined },
  facts: OneWayFacts,
  done: PromiseWithResolvers<void>,
): PostSubject {
  const lost = (why: string) =>
    done.reject(new ClientError("ERR_NOT_RUN", `A message could not be brought over: ${why}.`));
  return {
    ...facts,
    body: text ?? JSON.stringify(message),
    headers: {},
    isOneWay: true,
    isStart: false,
    isResumable: true,
    isHarmless: true,
    isSafe: true,
    isSafeAcross: !facts.isBound,
    isKeyed: false,
    wireId: null,
    cursor: null,
    isTold: false,
    prepare: () => Promise.resolve(),
    accepted: () => done.resolve(),
    moved: () => {},
    unknown: lost,
    failed: (error) => done.reject(error),
    tooLarge: () => {},
    requestIds: () => [],
    // Without effect once it was accepted.
    over: () => lost("the transport was closed"),
  };
}
