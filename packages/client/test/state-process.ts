/** Holds a state file until it is killed: `state-process.ts FILE`. */
import { fileState } from "@holdfast/client";

const [, , path = ""] = process.argv;
const state = fileState(path);
state.open(Date.now());
process.stdout.write(`${state.reserveIds()}\n`);
setInterval(() => {}, 60_000);
