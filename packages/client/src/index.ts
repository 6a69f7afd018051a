export type { ClientErrorCode } from "@holdfast/contract";
export type {
  ContractReport,
  Gap,
  Parked,
  ParkReason,
  SessionEnded,
  Shortfall,
  UnknownOutcome,
} from "./app-events.ts";
export type { CallOutcome } from "./calls/outcomes.ts";
export type { RecoveredCall } from "./calls/recovered.ts";
export { ClientError, HttpStatusError } from "./client-errors.ts";
export type {
  Arrival,
  Clock,
  FetchLike,
  Headers,
  Internals,
  ResumableClientOptions,
} from "./options.ts";
export type { SendOptions } from "./outbox.ts";
export {
  type ClientState,
  idBlock,
  type LedgerEntry,
  type SessionSetup,
  type StateChange,
  type StoredCall,
  type StoredSession,
  type StoredState,
} from "./state/client-state.ts";
export { type FileStateOptions, fileState } from "./state/file-state.ts";
export { memoryState } from "./state/memory-state.ts";
export { emptyState, type StateModel, stateModel } from "./state/state-model.ts";
export { type PendingCall, ResumableClientTransport } from "./transport.ts";
