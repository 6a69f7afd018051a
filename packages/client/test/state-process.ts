/**
 * Holds a state file until it is killed: `state-process.ts FILE`. Nothing refers to the state, the
 * garbage is collected, and another one of this process asks for the file in vain.
 */
import { fileState } from "@holdfast/client";

const [, , path = ""] = process.argv;

function hold(): number {
  const state = fileState(path);
  state.open(Date.now());
  return state.reserveIds();
}

function isRefused(): boolean {
  try {
    fileState(path).open(Date.now());
    return false;
  } catch {
    return true;
  }
}

const first = hold();
// What can be collected is finalized in a later turn.
for (let turn = 0; turn < 3; turn += 1) {
  globalThis.gc?.();
  await new Promise((resolve) => setImmediate(resolve));
}
process.stdout.write(isRefused() ? `${first}\n` : "the lock is lost\n");
setInterval(() => {}, 60_000);
