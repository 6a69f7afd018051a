/**
 * A log whose store can be put out of its reach, for tests of what runs on it: every question is
 * refused as a store that does not answer refuses it, and so are those whose answer is under way.
 */
import { LogError } from "@holdfast/contract";
import type { EventLog } from "../event-log.ts";
import type { SharedLog } from "../shared-log.ts";

export interface CutLog {
  readonly log: EventLog;
  /** @returns lets the store in again */
  cut(): () => void;
}

/** What is asked of the process alone, not of the store. */
const local: ReadonlySet<PropertyKey> = new Set(["follow", "followInbox", "followNodes", "close"]);

export function cuttable(log: EventLog): CutLog {
  let isCut = false;
  const away = () => {
    if (isCut) throw new LogError("ERR_LOG_UNAVAILABLE", "The store is out of reach.");
  };
  const wrap = <Face extends object>(face: Face): Face =>
    new Proxy(face, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (name === "shared" && value !== undefined) return shared;
        if (typeof value !== "function") return value;
        if (local.has(name)) return value.bind(target);
        return async (...given: unknown[]) => {
          away();
          const answer: unknown = await Reflect.apply(value, target, given);
          away();
          return answer;
        };
      },
    });
  const shared: SharedLog | undefined = log.shared && wrap(log.shared);
  return {
    log: wrap(log),
    cut: () => {
      isCut = true;
      return () => {
        isCut = false;
      };
    },
  };
}
