/**
 * Who makes a request: asked of the application, never decided here [C S-06].
 */

/** What there is to tell a principal by. */
export interface Credentials {
  /** Value of a header (lower-case name). */
  header(name: string): string | undefined;
}

export type Authentication =
  /**
   * `principal` names who it is, never with what token: issuer and subject, or a configured
   * identity. A refreshed token names the same principal, and keeps its sessions.
   */
  | { readonly kind: "principal"; readonly principal: string }
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
