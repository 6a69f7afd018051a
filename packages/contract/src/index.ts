export {
  type CloseOutcome,
  classifyClose,
  type NextAction,
  nextAction,
  type OpaqueId,
  type StreamClose,
} from "./close.ts";
export {
  type CloseDecision,
  callEndsAs,
  decideClose,
  floorMsMax,
  type LossRecovery,
} from "./close-decision.ts";
export type { DecisionKind } from "./close-table.ts";
export type { ClosedBy, Held, HeldOfCall, HeldOfStandalone, RefusedBy } from "./closed-by.ts";
export { errorMessageText } from "./error-text.ts";
export {
  type ClientErrorCode,
  type ErrorEntry,
  type ErrorFacts,
  errorTable,
  HoldfastError,
  type HoldfastErrorCode,
  LogError,
  type LogErrorCode,
  type ResumptionErrorCode,
  SessionResumptionError,
} from "./errors.ts";
export {
  compareEventIds,
  type EventId,
  type EventPlace,
  encodeEventId,
  eventIdCharsMax,
  parseEventId,
  standaloneStream,
} from "./event-id.ts";
export {
  elementsOf,
  locate,
  type Member,
  membersOf,
  type Span,
  skipBlank,
  stringEnd,
} from "./json/locate.ts";
export { numbered } from "./json/numbered.ts";
export { type Edit, removeMember, replaceAt, setMember, splice, textAt } from "./json/splice.ts";
export {
  type GapPlaces,
  gapNotification,
  type LostCall,
  type OutcomeUnknown,
  type OutcomeUnknownReason,
  outcomeUnknown,
  outcomeUnknownMessage,
  outcomeUnknownReasons,
  outcomeUnknownSentence,
  type ResumeWindowExceeded,
  resumeWindowExceeded,
  type UnsupportedVersion,
  unsupportedVersion,
} from "./loss.ts";
export {
  type InvalidMessage,
  isInitialize,
  type JsonObject,
  type JsonRpcError,
  type Message,
  type NotificationMessage,
  nameOf,
  parseMessage,
  type RequestId,
  type RequestMessage,
  type ResponseMessage,
} from "./messages.ts";
export {
  type ErrorCode,
  errorCodes,
  type Refusal,
  type RefusalDetails,
  type RefusalType,
  refusalBody,
  refusals,
} from "./refusals.ts";
export { isRepeatableMethod } from "./repeatable-methods.ts";
export {
  idempotencyHeader,
  type KeyScope,
  type ResumeCapability,
  type ResumePromise,
  resumeCapability,
  resumeCapabilityKey,
} from "./resume-capability.ts";
export {
  checkRetention,
  connectTimeoutMs,
  defaultReconnectPolicy,
  formatDuration,
  type ReconnectPolicy,
  type Retention,
  type RetentionQuestion,
  type RetentionVerdict,
  worstCaseReconnectMs,
} from "./retention.ts";
export {
  type CloseReason,
  closeFrame,
  type EventFrame,
  frameComment,
  frameEvent,
  heartbeatFrame,
  primingFrame,
  retryFrame,
} from "./sse.ts";
export {
  readTraceparent,
  type SpanName,
  withTraceparent,
  writeTraceparent,
} from "./trace-context.ts";
export {
  allowsArrays,
  isPrimedVersion,
  isSupportedVersion,
  type SupportedVersion,
  statelessVersionKey,
  supportedVersions,
} from "./versions.ts";
