export type { Authenticate, Authentication, AuthInfo, Credentials } from "./authentication.ts";
export { byAuthInfo } from "./authentication.ts";
export type { RequestFacts } from "./http/fetch.ts";
export type { ServedMessage } from "./http/node.ts";
export type {
  CallSummary,
  SessionActivity,
  SessionDetail,
  SessionInspection,
  SessionList,
  SessionSummary,
  StreamSummary,
} from "./inspection.ts";
export type { GapSignal, RuntimeOptions } from "./options.ts";
export { defaultOptions } from "./options.ts";
export type { RuntimeHealth, RuntimeParts, SessionRuntime } from "./runtime.ts";
export { createSessionRuntime } from "./runtime.ts";
export type { Logger } from "./runtime-context.ts";
export type { SdkEventStore } from "./sdk/event-store.ts";
export { sdkEventStore } from "./sdk/event-store.ts";
export type {
  MessageExtra,
  SdkServer,
  SdkTransport,
  SendOptions,
} from "./sdk/sdk-types.ts";
export type { HoldfastServerTransportOptions } from "./sdk/server-transport.ts";
export { HoldfastServerTransport } from "./sdk/server-transport.ts";
export type {
  RestoredState,
  ServedClient,
  ServedSession,
  SessionHandlerParts,
} from "./sdk/session-handler.ts";
export { createSessionHandler } from "./sdk/session-handler.ts";
export type { LatencyFacts } from "./telemetry/latency-sketch.ts";
export type { CallOutcome, Mark, MarkedCall, Observe } from "./telemetry/marks.ts";
export type { RuntimeFacts } from "./telemetry/telemetry.ts";
export type {
  ForwardedHeaders,
  Upstream,
  UpstreamEnd,
  UpstreamEvents,
  UpstreamFactory,
  UpstreamSession,
} from "./upstream.ts";
