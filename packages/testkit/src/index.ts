export { verifies } from "./verifies.ts";
