/**
 * What becomes of the calls that ran when a process died [C X-05]: some upstream may still be at
 * work on them, the others have an unknown outcome. Pure.
 */
import type { StreamState } from "@holdfast/log";
import type { CallPlace } from "./answers.ts";
import type { KeptCall } from "./session-data.ts";

export interface RunningCalls {
  readonly resumed: readonly { readonly place: CallPlace; readonly kept: KeptCall }[];
  /** One list for each stream. */
  readonly lost: readonly (readonly CallPlace[])[];
}

/**
 * @param running - streams with calls that run, as the log knows them
 * @param kept - calls that an upstream has which outlives the process
 */
export function sortRunning(
  running: readonly Pick<StreamState, "stream" | "calls">[],
  kept: readonly KeptCall[],
): RunningCalls {
  const resumed: { place: CallPlace; kept: KeptCall }[] = [];
  const lost = running.map(({ stream, calls }) =>
    calls.flatMap((call, index): CallPlace[] => {
      if (call.state !== "running") return [];
      const place = { ...call, stream, index };
      const own = kept.find((one) => one.stream === stream && one.index === index);
      if (own === undefined) return [place];
      resumed.push({ place, kept: own });
      return [];
    }),
  );
  return { resumed, lost: lost.filter((places) => places.length > 0) };
}
