/**
 * Bringing a fresh upstream to where a session is [C S-07]: it hears `initialize`, `initialized`,
 * the log level and the subscriptions again; the client hears nothing of it.
 */
import { numbered } from "./json/numbered.ts";
import type { SessionData } from "./session-data.ts";
import type { Upstream } from "./upstream.ts";

export interface SetupIo {
  /** A request id that the upstream has not seen. */
  nextNumber(): number;
  /** The answer to that request, JSON text; it goes no further. */
  answerOf(number: number): Promise<string>;
}

/** @returns false when the upstream refused: the session cannot go on */
export async function replaySetup(
  data: SessionData,
  upstream: Upstream,
  io: SetupIo,
): Promise<boolean> {
  const answer = JSON.parse(await ask(data.initialize, upstream, io)) as { result?: unknown };
  if (answer.result === undefined) return false;
  if (data.initialized !== undefined) await upstream.send(data.initialized);
  const level = data.level === undefined ? [] : [data.level];
  // Sent in order; their answers say nothing that the session depends on.
  for (const text of [...level, ...Object.values(data.subscriptions)]) void ask(text, upstream, io);
  return true;
}

async function ask(text: string, upstream: Upstream, io: SetupIo): Promise<string> {
  const number = io.nextNumber();
  const answer = io.answerOf(number);
  await upstream.send(numbered(text, number));
  return answer;
}
