export { type AcceptanceSettings, acceptFace, type Chapter } from "./accept-face.ts";
export type {
  Face,
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
} from "./face.ts";
