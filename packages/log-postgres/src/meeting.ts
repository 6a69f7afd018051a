/**
 * Meeting the store on a new connection, and each time that log time is told: is it the one that the
 * log knows, and in the state in which it was left [C R-08]?
 */
import { LogError } from "@holdfast/contract";
import { randomIncarnation } from "@holdfast/log";
import { isLossy, isReplicated, meet, type StoreIdentity, type StoreSettings } from "./identity.ts";
import type { StatementName } from "./sql.ts";

/** Of those who meet a store that has changed, one notes it; the others look again. */
const looksMax = 10;

/** What is known after a meeting. */
export interface Met {
  readonly generation: number;
  readonly lossGeneration: number;
  readonly lossIncarnation: string;
  readonly logMs: number;
  readonly settings: StoreSettings;
}

interface HelloRow extends StoreSettings {
  readonly generation: number;
  readonly loss_generation: number;
  readonly loss_incarnation: string;
  readonly log_ms: number;
  readonly noted: StoreIdentity | null;
  readonly is_standby: boolean;
  readonly system: string;
  readonly timeline: string;
  readonly database: string;
  readonly table: string;
  readonly started: string;
}

export type Ask = (name: StatementName, values: readonly unknown[]) => Promise<readonly object[]>;

/**
 * @param toldMs - log time that this node has told the store, and that the store has kept
 * @returns what is true once the meeting is noted
 * @throws LogError `ERR_LOG_UNAVAILABLE` for a standby, `ERR_LOG_CORRUPT` where nothing is
 */
export async function meetStore(ask: Ask, toldMs: number): Promise<Met> {
  let keptMs = toldMs;
  for (let looks = 0; looks < looksMax; looks += 1) {
    const [row] = (await ask("hello", [])) as readonly (HelloRow | undefined)[];
    if (row === undefined) {
      throw new LogError("ERR_LOG_CORRUPT", "The event log has lost its own record.");
    }
    if (row.is_standby) throw standbyError();
    if (row.log_ms < keptMs) {
      // It has forgotten what it had kept: it is in an older state than it was.
      keptMs = row.log_ms;
      await ask("declare-loss", [row.generation, randomIncarnation()]);
      continue;
    }
    const identity = identityOf(row);
    const meeting = meet(row.noted, identity);
    if (meeting === "same") return metOf(row);
    const values = [identity, row.generation, meeting === "loss", randomIncarnation()];
    await ask("note-store", values);
  }
  throw new LogError("ERR_LOG_UNAVAILABLE", "The store is another one at each look.", {
    hint: "Let the name of the database lead to one server, the primary.",
  });
}

function metOf(row: HelloRow): Met {
  return {
    settings: row,
    generation: row.generation,
    lossGeneration: row.loss_generation,
    lossIncarnation: row.loss_incarnation,
    logMs: row.log_ms,
  };
}

function identityOf(row: HelloRow): StoreIdentity {
  const { system, timeline, database, table, started } = row;
  const facts = { isLossy: isLossy(row), isReplicated: isReplicated(row) };
  return { system, timeline, database, table, started, ...facts };
}

/** As the server itself refuses to write there: later, the name may lead to the primary. */
function standbyError(): Error {
  const error = new Error("the server is a standby");
  return Object.assign(error, { code: "25006", severity: "ERROR" });
}
