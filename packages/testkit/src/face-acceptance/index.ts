export { type AcceptanceSettings, acceptFace, type Chapter } from "./accept-face.ts";
export { type Bench, type BenchSettings, benches } from "./bench.ts";
export type {
  Face,
  FaceAuthenticate,
  FaceAuthentication,
  FaceClock,
  FaceLogger,
  FaceOptions,
  FaceParts,
  FaceUpstream,
  FaceUpstreamEvents,
  FaceUpstreamFactory,
  LogGate,
  LogKind,
  ServedFace,
  Stop,
} from "./face.ts";
export { type ScriptedUpstreams, scriptedUpstreams } from "./scripted-upstream.ts";
