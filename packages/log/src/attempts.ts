/**
 * The outcomes of a session's newest commits, by the id of the attempt: who repeats a commit whose
 * reply was lost gets the first outcome, and nothing changes twice.
 */
import type { CommitOutcome } from "./event-log.ts";

/** How many a session remembers. */
export const attemptsMax = 8;

export type Attempts = Map<string, CommitOutcome>;

export function rememberAttempt(
  attempts: Attempts,
  id: string | undefined,
  outcome: CommitOutcome,
): void {
  if (id === undefined) return;
  attempts.set(id, outcome);
  if (attempts.size <= attemptsMax) return;
  const [oldest] = attempts.keys();
  if (oldest !== undefined) attempts.delete(oldest);
}
