/**
 * Outcomes of an earlier process that no call of this one claims [C K-10]: reported after a while,
 * and gone then. Until the while is over an identical call gets them instead.
 */
import type { CallOutcome, RecoveredCall } from "@holdfast/client";

export interface UnclaimedSource {
  recovered(): Promise<readonly RecoveredCall[]>;
}

export interface UnclaimedReporter {
  /** The while is over for all that is unclaimed now: report it, or as soon as it has ended. */
  look(): Promise<void>;
  /** A call was made: it may have claimed one that still runs. */
  recheck(): Promise<void>;
}

/** How long a host has, from when it is initialized, to make the call again. */
export const claimMs = 5 * 60_000;

/** @param report - told of each outcome once */
export function unclaimedReporter(
  source: UnclaimedSource,
  report: (call: RecoveredCall, outcome: CallOutcome) => void,
): UnclaimedReporter {
  /** Still running, or not reported yet. */
  const watched = new Set<string>();
  return {
    look: async () => {
      for (const call of await source.recovered()) {
        const key = keyOf(call);
        if (watched.has(key)) continue;
        watched.add(key);
        void call.outcome().then((outcome) => {
          if (watched.delete(key)) report(call, outcome);
        });
      }
    },
    recheck: async () => {
      if (watched.size === 0) return;
      const unclaimed = new Set((await source.recovered()).map(keyOf));
      for (const key of watched) if (!unclaimed.has(key)) watched.delete(key);
    },
  };
}

/** Earlier processes may have given the same id. */
function keyOf({ id, startedAtMs }: RecoveredCall): string {
  return `${startedAtMs} ${JSON.stringify(id)}`;
}
