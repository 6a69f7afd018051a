/** The fencing tokens under which a test commits to a shared log; it takes sessions over as it goes. */
import type { EventLog, SessionId } from "../event-log.ts";

export interface Fences {
  /** The token of a session; 0 where there is none, or the log is not shared. */
  of(session: SessionId): number | Promise<number>;
}

/** @param waitForLease - another node holds the session: let its lease run out */
export function fencesOf(log: EventLog, waitForLease: () => Promise<void>): Fences {
  const { shared } = log;
  const owned = new Map<SessionId, number | Promise<number>>();
  const acquire = async (session: SessionId): Promise<number> => {
    for (;;) {
      const outcome = await shared?.acquire(session);
      if (outcome?.kind === "held") {
        await waitForLease();
        continue;
      }
      if (outcome?.kind === "owned") owned.set(session, outcome.fence);
      else owned.delete(session);
      return outcome?.kind === "owned" ? outcome.fence : 0;
    }
  };
  return {
    of: (session) => {
      if (shared === undefined) return 0;
      const known = owned.get(session) ?? acquire(session);
      owned.set(session, known);
      return known;
    },
  };
}
