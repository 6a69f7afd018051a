import { acceptFace } from "@holdfast/testkit/face-acceptance";
import { nodeFace } from "./node-face.ts";

acceptFace(nodeFace, {
  log: "sqlite",
  chapters: ["sessions", "endings", "streams", "resume", "takeover", "gaps", "retention", "bounds"],
});
