/** Whose idempotency keys are [C X-03]: told to clients, and part of the name of each key. Pure. */
import type { KeyScope } from "@holdfast/contract";

/** @param sharesKeys - of an endpoint that nobody but this machine reaches */
export function keyScopeOf(isAuthenticated: boolean, sharesKeys: boolean): KeyScope {
  if (isAuthenticated) return "principal";
  return sharesKeys ? "shared" : "session";
}

/** Keys of the same holder are the same keys. */
export function keyHolder(scope: KeyScope, principal: string, sessionTag: string): string {
  switch (scope) {
    case "principal":
      return `principal ${principal}`;
    case "shared":
      return "shared";
    case "session":
      return `session ${sessionTag}`;
  }
}
