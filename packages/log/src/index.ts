export { type Attempts, attemptsMax, createAttempts } from "./attempts.ts";
export { type Census, createCensus } from "./census.ts";
export type {
  Call,
  CallState,
  Claim,
  Clock,
  Commit,
  CommitOutcome,
  Durability,
  EndReason,
  EventKind,
  EventLog,
  Eviction,
  Gap,
  IncarnationRun,
  KeyClaim,
  LoggedEvent,
  LogSettings,
  Op,
  ReadLimit,
  ReadOutcome,
  RestLimits,
  Seen,
  SessionId,
  SessionState,
  StreamState,
  SweepOutcome,
} from "./event-log.ts";
export { createEvictionTally, type Evicted, type EvictionTally } from "./eviction-tally.ts";
export { addFollower, createFollowers, type Followers } from "./followers.ts";
export {
  effectiveRuns,
  evictedRunsMax,
  incarnationAt,
  type PossibleLoss,
  placeAt,
  pruneRuns,
  randomIncarnation,
  recordRun,
} from "./incarnations.ts";
export { type Judgement, judge } from "./judge.ts";
export { keyBytes, type LedgerEntry, ledgerName } from "./ledger-draft.ts";
export {
  type LogTime,
  purgeAfterMs,
  type Rest,
  restEndMs,
  startLogTime,
  tombstoneMs,
  windowEndMs,
} from "./log-time.ts";
export { memoryLog } from "./memory-log.ts";
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from "./memory-store.ts";
export {
  type Before,
  type Plan,
  type PlannedEntry,
  type PlannedEvent,
  planCommit,
  type Refused,
  type Touch,
} from "./plan.ts";
export {
  type AcquireOutcome,
  type Holding,
  type InboxEntry,
  inboxBytesMax,
  inboxEntriesMax,
  leaseMsDefault,
  type NodeId,
  type SharedLog,
  type TakeOutcome,
} from "./shared-log.ts";
