export type { Authenticate, Authentication, Credentials } from "./authentication.ts";
export type { GapSignal, RuntimeOptions } from "./options.ts";
export { defaultOptions } from "./options.ts";
export type { RuntimeParts, SessionRuntime } from "./runtime.ts";
export { createSessionRuntime } from "./runtime.ts";
export type { Logger } from "./runtime-context.ts";
export type { CallOutcome, Mark, MarkedCall, Observe } from "./telemetry/marks.ts";
export type {
  ForwardedHeaders,
  Upstream,
  UpstreamEnd,
  UpstreamEvents,
  UpstreamFactory,
  UpstreamSession,
} from "./upstream.ts";
