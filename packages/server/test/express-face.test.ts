import { acceptFace } from "@holdfast/testkit/face-acceptance";
import { expressFace, frameworkSettings } from "./framework-faces.ts";

acceptFace(expressFace, frameworkSettings);
