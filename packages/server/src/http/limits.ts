/**
 * The limits of the server (503), and of a principal or a session (429) [C P-02] [C D-04].
 */
import { nobody } from "../authentication.ts";
import type { IncomingRequest } from "../incoming.ts";
import type { SessionFace } from "../session-face.ts";
import type { Exchange } from "./endpoint.ts";
import { type Rejection, reject } from "./rejection.ts";

/** May this principal open one more session? */
export async function checkNewSession(
  { endpoint, principal }: Exchange,
  idJson: string,
): Promise<Rejection | undefined> {
  const { context, sessions } = endpoint;
  const { sessionsMax, sessionsPerPrincipalMax } = context.options;
  if (context.viewports.isFull) return tooManyViewports(idJson);
  // Sessions that are being opened are not in the log yet.
  if ((await context.log.liveSessions()) + sessions.opening(undefined) >= sessionsMax) {
    return reject("overloaded", `There are ${sessionsMax} sessions; no more are taken now.`, {
      idJson,
    });
  }
  if (principal === nobody) return undefined;
  const own = (await context.log.liveSessions(principal)) + sessions.opening(principal);
  if (own < sessionsPerPrincipalMax) return undefined;
  return reject(
    "rate-limited",
    `You have ${sessionsPerPrincipalMax} sessions; end one of them with DELETE.`,
    { idJson },
  );
}

/** May this session have these calls too? */
export function checkNewCalls(
  { endpoint }: Exchange,
  session: SessionFace,
  requests: readonly IncomingRequest[],
): Rejection | undefined {
  const { options, viewports } = endpoint.context;
  const idJson = requests[0]?.idJson;
  // What needs no response of its own may be what the open ones wait for.
  if (requests.length > 0 && viewports.isFull) return tooManyViewports(idJson);
  if (session.isOverloaded) {
    return reject("overloaded", "The upstream does not keep up; try again later.", { idJson });
  }
  if (session.load.calls + requests.length > options.callsPerSessionMax) {
    const message = `The session has ${options.callsPerSessionMax} calls in flight at most.`;
    return reject("rate-limited", message, { idJson });
  }
  // Each call has a stream, several may share one: the streams are counted when it may matter.
  const mayMatter = requests.length > 0 && session.load.calls >= options.streamsPerSessionMax;
  if (mayMatter && session.load.streams >= options.streamsPerSessionMax) {
    const message = `The session has ${options.streamsPerSessionMax} open streams at most.`;
    return reject("rate-limited", message, { idJson });
  }
  return undefined;
}

/**
 * Open something with its places kept: what is checked meanwhile counts it already.
 *
 * @param session - where the calls are to be opened; undefined for a new session
 */
export async function holdingPlaces<Opened>(
  { endpoint }: Exchange,
  session: SessionFace | undefined,
  calls: number,
  open: () => Promise<Opened>,
): Promise<Opened> {
  const releaseViewport = endpoint.context.viewports.hold();
  const releaseCalls = session?.hold(calls);
  try {
    return await open();
  } finally {
    releaseViewport();
    releaseCalls?.();
  }
}

export function tooManyViewports(idJson?: string): Rejection {
  return reject("overloaded", "The server has as many open responses as it may have.", { idJson });
}
