import { acceptFace } from "@holdfast/testkit/face-acceptance";
import { fastifyFace, frameworkSettings } from "./framework-faces.ts";

acceptFace(fastifyFace, frameworkSettings);
