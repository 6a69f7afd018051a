/**
 * The session that a request names, or why there is none [C S-04] [C S-05].
 */
import type { SessionId } from "@holdfast/log";
import type { SessionFace } from "../session-face.ts";
import type { Absence } from "../sessions.ts";
import { type ForwardedHeaders, withAuthInfo } from "../upstream.ts";
import type { Exchange } from "./endpoint.ts";
import { checkVersion } from "./negotiation.ts";
import { type Rejection, reject } from "./rejection.ts";

export type Found =
  | { readonly kind: "found"; readonly session: SessionFace }
  | { readonly kind: "rejected"; readonly rejection: Rejection };

/** [C S-09] visible ASCII; ours have 32 characters, nobody's has more than this. */
const sessionIdForm = /^[\x21-\x7e]{1,256}$/;

/**
 * Find the session of a request; the version that it claims is checked on the way, since the
 * session's own version is always accepted.
 *
 * @param bodies - the parsed messages of a POST, which may claim a version of their own
 * @throws what the log throws
 */
export async function findSession(exchange: Exchange, bodies: readonly unknown[]): Promise<Found> {
  const { endpoint, request, principal } = exchange;
  const forwarded = forwardedHeaders(exchange);
  const id = request.header("mcp-session-id");
  const lookup =
    id !== undefined && sessionIdForm.test(id)
      ? await endpoint.sessions.find(id as SessionId, principal, forwarded)
      : undefined;
  const session = lookup?.kind === "live" ? lookup.session : undefined;
  const rejection = checkVersion(request.header("mcp-protocol-version"), bodies, session?.version);
  if (rejection !== undefined) return { kind: "rejected", rejection };
  if (session !== undefined) {
    session.touch(forwarded);
    return { kind: "found", session };
  }
  return { kind: "rejected", rejection: whyNone(id, lookup) };
}

/** The headers of a request that the upstream may see. */
export function forwardedHeaders(exchange: Exchange): ForwardedHeaders {
  const { endpoint, request, authInfo } = exchange;
  const { forwardHeaders } = endpoint.context.options;
  if (forwardHeaders === "all") return withAuthInfo(request.headers(), authInfo);
  const shown = forwardHeaders.flatMap((name) => {
    const value = request.header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(shown);
}

/** [C S-04] */
export function absent(reason: Absence): Rejection {
  return reject("session-not-found", `The session ${absences[reason]}; begin a new one.`, {
    data: { reason },
  });
}

function whyNone(
  id: string | undefined,
  lookup: { readonly kind: string; readonly reason?: Absence } | undefined,
): Rejection {
  if (id === undefined || id === "") {
    return reject(
      "session-required",
      "Every request but initialize needs the Mcp-Session-Id that initialize was answered with.",
    );
  }
  if (lookup === undefined) {
    return reject("invalid-session-id", "The Mcp-Session-Id is not made of visible ASCII.");
  }
  return absent(lookup.reason ?? "unknown");
}

const absences: Readonly<Record<Absence, string>> = {
  unknown: "is not known here",
  expired: "has expired",
  deleted: "was deleted",
  ended: "has ended",
};
