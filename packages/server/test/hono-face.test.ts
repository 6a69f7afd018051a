import { acceptFace } from "@holdfast/testkit/face-acceptance";
import { frameworkSettings, honoFace, honoNodeFace } from "./framework-faces.ts";

acceptFace(honoFace, frameworkSettings);
acceptFace(honoNodeFace, {
  chapters: ["sessions", "cuts", "endings", "cancellation", "streams", "resume", "takeover"],
});
