/**
 * What it means to open the log: a new generation with an incarnation of its own, and whether
 * acknowledged events may have been lost since it was last open [C R-08]. Pure.
 *
 * Under process durability the newest commits may not have reached the disk when the machine goes
 * down; the boot id tells that it did. A file that was closed had everything on disk.
 */
import type { PossibleLoss } from "@holdfast/log";

export type SqliteDurability = "process" | "power";

/** The one row of `meta`. */
export interface Meta extends PossibleLoss {
  readonly generation: number;
  readonly bootId: string;
  readonly durability: SqliteDurability;
  readonly isClean: boolean;
  readonly baseMs: number;
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
