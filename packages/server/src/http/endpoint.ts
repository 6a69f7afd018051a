/**
 * The endpoint, and a request to it that may be served: what the methods of HTTP share.
 */
import type { Authenticate, AuthInfo } from "../authentication.ts";
import type { RuntimeContext } from "../runtime-context.ts";
import type { Sessions } from "../sessions.ts";
import type { AccessRules } from "./access.ts";
import type { Headers, HttpReply, HttpRequest } from "./exchange.ts";
import type { Rejection } from "./rejection.ts";

export interface Endpoint {
  readonly context: RuntimeContext;
  readonly sessions: Sessions;
  readonly access: AccessRules;
  readonly authenticate: Authenticate | undefined;
  isDraining(): boolean;
}

/** A request that may be served, with all that serving it needs. */
export interface Exchange {
  readonly endpoint: Endpoint;
  readonly request: HttpRequest;
  readonly reply: HttpReply;
  /** Headers that the answer has whatever it is. */
  readonly headers: Headers;
  readonly principal: string;
  readonly authInfo: AuthInfo | undefined;
}

/** Answered (undefined), or refused. */
export type Handled = Promise<Rejection | undefined>;
