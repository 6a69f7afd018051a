/** Single exchanges in a session, whose bodies nobody reads: is it there, and the end of it. */
import { ClientError, HttpStatusError } from "../client-errors.ts";
import { exchange, type HttpOutcome } from "../http/exchange.ts";
import type { Settings } from "../options.ts";
import { type Session, sessionHeaders } from "./session.ts";

/** One attempt to reach the session, until it is given up; unknown: it says nothing of it. */
export async function pingOnce(
  settings: Settings,
  session: Session,
  id: number,
  givenUp: AbortSignal,
): Promise<"contact" | "gone" | "unknown"> {
  const body = JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
  const outcome = await once(settings, session, { method: "POST", body, givenUp });
  if (outcome.kind === "refused" && outcome.refusal.status === 404) return "gone";
  return isReached(outcome) ? "contact" : "unknown";
}

/**
 * End the session at the server [C S-08].
 *
 * @throws HttpStatusError, ClientError `ERR_NOT_RUN` when nothing answered
 */
export async function deleteSession(settings: Settings, session: Session): Promise<void> {
  const outcome = await once(settings, session, { method: "DELETE" });
  if (isReached(outcome)) return;
  if (outcome.kind === "withheld") throw outcome.error;
  if (outcome.kind !== "refused") {
    throw new ClientError("ERR_NOT_RUN", "The server could not be reached to end the session.");
  }
  const { status, text } = outcome.refusal;
  // [spec] 405: the server lets nobody end sessions; 404: it is over already.
  if (status !== 404 && status !== 405) throw new HttpStatusError("DELETE", status, text);
}

interface Single {
  readonly method: "POST" | "DELETE";
  readonly body?: string;
  readonly givenUp?: AbortSignal;
}

async function once(
  settings: Settings,
  session: Session,
  { method, body, givenUp }: Single,
): Promise<HttpOutcome> {
  const attempt = new AbortController();
  const giveUp = () => attempt.abort();
  givenUp?.addEventListener("abort", giveUp, { once: true });
  const typed = body === undefined ? {} : { "content-type": "application/json" };
  const accept = { accept: "application/json, text/event-stream" };
  const headers = { ...accept, ...typed, ...sessionHeaders(session) };
  const request = { method, headers, ...(body === undefined ? {} : { body }) };
  const { connectMs: headersMs } = settings.internals;
  const outcome = await exchange(settings, request, { signal: attempt.signal, headersMs });
  givenUp?.removeEventListener("abort", giveUp);
  attempt.abort();
  return outcome;
}

function isReached({ kind }: HttpOutcome): boolean {
  return kind !== "refused" && kind !== "died" && kind !== "withheld";
}
