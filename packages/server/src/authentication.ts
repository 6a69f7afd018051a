/**
 * Who makes a request: asked of the application, never decided here [C S-06].
 */

/** What there is to tell a principal by. */
export interface Credentials {
  /** Value of a header (lower-case name). */
  header(name: string): string | undefined;
  /** What a middleware before the endpoint found out (`req.auth` of the SDKs), where there is one. */
  readonly authInfo?: AuthInfo | undefined;
}

/** What is known of a caller, in the shape of the SDKs' `AuthInfo`; passed on to SDK servers. */
export interface AuthInfo {
  readonly token: string;
  readonly clientId: string;
  readonly scopes: string[];
  /** Seconds since the epoch. */
  readonly expiresAt?: number | undefined;
  readonly resource?: URL | undefined;
  readonly extra?: Record<string, unknown> | undefined;
}

export type Authentication =
  /**
   * `principal` names who it is, never with what token: issuer and subject, or a configured
   * identity. A refreshed token names the same principal, and keeps its sessions.
   */
  | {
      readonly kind: "principal";
      readonly principal: string;
      /** For the handlers of SDK servers. */
      readonly authInfo?: AuthInfo | undefined;
    }
  /** 401; `challenge` is the value of `WWW-Authenticate`. */
  | { readonly kind: "refused"; readonly challenge: string; readonly message: string }
  /** 503: who it is cannot be found out now. */
  | { readonly kind: "unavailable"; readonly message: string };

/**
 * Tells who makes a request; called for each one, resumes included.
 *
 * A rejection is answered like `unavailable`, and logged.
 */
export type Authenticate = (request: Credentials) => Authentication | Promise<Authentication>;

/** Without authentication everyone is the same principal. */
export const nobody = "";

/**
 * Takes the word of a middleware before the endpoint, such as `requireBearerAuth` of the SDKs.
 *
 * @param principalOf - names who it is; by default issuer and subject, where the middleware put
 * `iss` and `sub` into `extra`, and the client
 * @returns refuses with 401 what comes without
 */
export function byAuthInfo(
  principalOf: (authInfo: AuthInfo) => string = principalOfAuthInfo,
): Authenticate {
  return ({ authInfo }) =>
    authInfo === undefined
      ? { kind: "refused", challenge: "Bearer", message: "Nothing says who makes this request." }
      : { kind: "principal", principal: principalOf(authInfo), authInfo };
}

/** Never by the token's bytes: a refreshed one is the same principal [C S-06]. */
export function principalOfAuthInfo({ clientId, extra }: AuthInfo): string {
  return JSON.stringify(["auth", extra?.["iss"] ?? null, extra?.["sub"] ?? null, clientId]);
}
