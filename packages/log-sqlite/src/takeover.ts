/**
 * What it means to open the log: a new generation with an incarnation of its own, and whether
 * acknowledged events may have been lost since it was last open [C R-08]. Pure.
 *
 * Under process durability the newest commits may not have reached the disk when the machine goes
 * down; the boot id tells that it did. A file that was closed had everything on disk.
 */
import type { IncarnationRun } from "@holdfast/log";

export type SqliteDurability = "process" | "power";

/** The one row of `meta`. */
export interface Meta {
  readonly generation: number;
  readonly bootId: string;
  readonly durability: SqliteDurability;
  readonly isClean: boolean;
  readonly baseMs: number;
  readonly lossGeneration: number;
  readonly lossIncarnation: string;
}

export interface Opening {
  readonly bootId: string;
  readonly durability: SqliteDurability;
  readonly incarnation: string;
}

/**
 * The row as it is from this opening on.
 *
 * @param previous - `undefined` for a new file
 * @param newestAtMs - log time of the newest thing in the file; the stored base may be older after a
 * crash
 */
export function takeOver(previous: Meta | undefined, opening: Opening, newestAtMs: number): Meta {
  const { bootId, durability, incarnation } = opening;
  const generation = (previous?.generation ?? 0) + 1;
  const isLoss = previous !== undefined && mayHaveLost(previous, bootId);
  return {
    generation,
    bootId,
    durability,
    isClean: false,
    baseMs: Math.max(previous?.baseMs ?? 0, newestAtMs),
    lossGeneration: isLoss ? generation : (previous?.lossGeneration ?? 0),
    lossIncarnation: isLoss ? incarnation : (previous?.lossIncarnation ?? ""),
  };
}

/** A boot id that is not known is never the same: the log cannot tell, so it may have lost. */
function mayHaveLost(previous: Meta, bootId: string): boolean {
  if (previous.isClean || previous.durability === "power") return false;
  return previous.bootId !== bootId || bootId === "";
}

/**
 * The runs of a stream as they count now. Those written before a possible loss vouch for nothing:
 * what is still there is vouched for by the incarnation that found the loss, and every cursor from
 * before it is refused [C R-08]. Rows are written anew when their stream is next appended to.
 *
 * @param generation - the opening at which `runs` were written
 */
export function effectiveRuns(
  runs: readonly IncarnationRun[],
  generation: number,
  log: Pick<Meta, "lossGeneration" | "lossIncarnation">,
): readonly IncarnationRun[] {
  if (generation >= log.lossGeneration) return runs;
  return [{ from: 0, incarnation: log.lossIncarnation }];
}
