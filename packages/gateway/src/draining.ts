/**
 * The end of a gateway that serves: running calls come to their end first, then everything is
 * closed; all of it within a limit [C D-02].
 *
 *     serving ──stop──▶ draining ──no call left, or time──▶ closing ──done, or time──▶ over
 */
import type { Logger, SessionRuntime } from "@holdfast/server";
import type { Listener } from "./listen.ts";
import { settlesWithin } from "./settles-within.ts";

export interface DrainParts {
  readonly runtime: Pick<SessionRuntime, "drain" | "close" | "callCount">;
  readonly listener: Pick<Listener, "drain" | "stop" | "close">;
  readonly logger: Logger;
  /** How long all of it may take, milliseconds. */
  readonly timeoutMs: number;
}

/** Pause between two log lines about the calls that are left, milliseconds. */
export const tellMs = 5000;
/** How long responses may take to leave when everything else is closed, milliseconds. */
const lingerMs = 500;

/**
 * Of the time to stop in, some is kept for what comes after the calls: ending children, closing the
 * log. That takes a second or more, however little time there is.
 */
export function splitTime(timeoutMs: number): {
  readonly callsMs: number;
  readonly closeMs: number;
} {
  const closeMs = Math.min(Math.max(timeoutMs / 4, 1000), 5000);
  return { callsMs: Math.max(timeoutMs - closeMs, 0), closeMs };
}

/**
 * Stop serving; resolves when that is done, and when its time has passed. No session ends by it
 * [C S-01].
 */
export async function drainAndClose(parts: DrainParts): Promise<void> {
  const { runtime, listener, logger, timeoutMs } = parts;
  const { callsMs, closeMs } = splitTime(timeoutMs);
  const calls = runtime.callCount();
  logger.info({ calls }, `draining: ${calls} calls in flight; another signal ends it at once`);
  const telling = setInterval(() => {
    const left = runtime.callCount();
    logger.info({ calls: left }, `draining: ${left} calls left`);
  }, tellMs);
  // Resumes are served all the while: the results of these calls have to get out.
  listener.drain();
  const left = await runtime.drain(callsMs).finally(() => clearInterval(telling));
  if (left > 0) {
    const message = `closing with ${left} calls that still run: their outcome will be unknown`;
    logger.warn({ calls: left }, message);
  }
  listener.stop();
  const closed = runtime.close().then(() => listener.close(lingerMs));
  if (await settlesWithin(closed, closeMs)) await closed;
  else logger.warn({ closeMs }, "closing takes too long: what is left ends with this process");
}
