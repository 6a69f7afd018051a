/**
 * A refusal on its way to the client: always JSON, always with what was wrong [C D-03].
 */
import { type RefusalType, refusalBody, refusals } from "@holdfast/contract";
import { bounds } from "../options.ts";
import type { Headers, HttpReply } from "./exchange.ts";

export interface Rejection {
  readonly type: RefusalType;
  /** A sentence, and what to do. */
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
  /** The refused request's id, JSON text, when one was read. */
  readonly idJson: string | undefined;
}

interface Details {
  readonly data?: Readonly<Record<string, unknown>>;
  readonly headers?: Headers;
  readonly idJson?: string | undefined;
}

export function reject(type: RefusalType, message: string, details: Details = {}): Rejection {
  return {
    type,
    message,
    data: details.data ?? {},
    headers: details.headers ?? {},
    idJson: details.idJson,
  };
}

/** @param isNotRun - the call certainly did not run: the log refused it before it was delivered */
export function storeUnavailable(isNotRun: boolean, idJson?: string): Rejection {
  const message = "The event log does not take this now; try again in a moment.";
  return reject("store-unavailable", message, {
    ...(isNotRun ? { data: { notRun: true } } : {}),
    idJson,
  });
}

/**
 * Send a refusal.
 *
 * @param isPost - a POST that certainly did not run is told so
 */
export function sendRejection(
  reply: HttpReply,
  rejection: Rejection,
  isPost: boolean,
  common: Headers,
): void {
  const { status, isNotRun } = refusals[rejection.type];
  const retryAfter: Headers =
    status === 503 || status === 429 ? { "retry-after": String(bounds.retryAfterS) } : {};
  const data = isPost && isNotRun ? { ...rejection.data, notRun: true } : rejection.data;
  reply.send(
    status,
    { "content-type": "application/json", ...common, ...retryAfter, ...rejection.headers },
    refusalBody(rejection.type, {
      message: rejection.message,
      data,
      ...(rejection.idJson === undefined ? {} : { id: rejection.idJson }),
    }),
  );
}
