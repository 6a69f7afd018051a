/**
 * Bringing a fresh upstream to where a session is [C S-07]: it hears `initialize`, `initialized`,
 * the log level and the subscriptions again; the client hears nothing of it.
 */
import { numbered } from "@holdfast/contract";
import type { SessionData } from "./session-data.ts";
import type { Upstream } from "./upstream.ts";

export interface SetupIo {
  /** A request id that the upstream has not seen. */
  nextNumber(): number;
  /** The answer to that request, JSON text, which goes no further; undefined: it never came. */
  answerOf(number: number): Promise<string | undefined>;
}

/** @returns false when the upstream refused: the session cannot go on */
export async function replaySetup(
  data: SessionData,
  upstream: Upstream,
  io: SetupIo,
): Promise<boolean> {
  const number = io.nextNumber();
  const answered = io.answerOf(number);
  await upstream.send(numbered(data.initialize, number));
  const answer = await answered;
  // Lost in the middle: the next upstream is asked again.
  if (answer === undefined) return true;
  if ((JSON.parse(answer) as { result?: unknown }).result === undefined) return false;
  if (data.initialized !== undefined) await upstream.send(data.initialized);
  const level = data.level === undefined ? [] : [data.level];
  for (const text of [...level, ...Object.values(data.subscriptions)]) {
    const own = io.nextNumber();
    // Taken from the stream of answers; it says nothing that the session depends on.
    void io.answerOf(own);
    await upstream.send(numbered(text, own));
  }
  return true;
}
