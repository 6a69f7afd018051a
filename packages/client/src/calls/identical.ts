/** When two calls are the same call [C K-10]: method, name and arguments, as JSON values. */
import { createHash } from "node:crypto";
import type { JsonObject } from "@holdfast/contract";

/** @returns the same digest for identical requests, whatever their ids, tokens and key order */
export function requestDigest(method: string, params: JsonObject | undefined): string {
  const { _meta, ...args } = params ?? {};
  return createHash("sha256")
    .update(JSON.stringify([method, sorted(args)]))
    .digest("hex");
}

export function isSameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => [key, sorted(member)]);
  // An array of pairs would be the same as an array.
  return { members };
}
