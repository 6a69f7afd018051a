import { acceptFace } from "@holdfast/testkit/face-acceptance";
import { nodesFace } from "./nodes-face.ts";

// Left out: chapters about one process: its clock, its limits, why its calls were lost.
acceptFace(nodesFace, {
  chapters: [
    "sessions",
    "cuts",
    "routing",
    "cancellation",
    "requestIds",
    "questions",
    "arrays",
    "upstreamLoss",
    "restart",
    "principal",
    "streams",
    "resume",
    "gaps",
    "keys",
  ],
});
