import { acceptFace } from "@holdfast/testkit/face-acceptance";
import { fetchFace } from "./fetch-face.ts";

acceptFace(fetchFace);
