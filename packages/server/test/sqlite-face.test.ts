import { acceptFace } from "@holdfast/testkit/face-acceptance";
import { nodeFace } from "./node-face.ts";

acceptFace(nodeFace, {
  log: "sqlite",
  chapters: [
    "sessions",
    "cuts",
    "endings",
    "questions",
    "bytes",
    "upstreamLoss",
    "streams",
    "resume",
    "gaps",
    "retention",
    "restart",
    "outcomes",
    "limits",
    "principal",
    "hibernation",
    "keys",
    "keyOutcomes",
  ],
});
