/**
 * JSON-RPC error messages as text, made from the texts of their parts: the id of a request goes
 * through as it was written, so that one beyond 2^53 keeps its digits [C E-12].
 */
import type { RequestId } from "./messages.ts";

/**
 * @param idJson - JSON text of the request's id: `7`, `"7"`, or `null`
 * @param errorJson - JSON text of a `{code,message,data?}`, taken as it is
 * @throws TypeError for a text that is no id
 */
export function errorMessageText(idJson: string, errorJson: string): string {
  // The text is spliced in: anything but an id would break the message around it.
  if (idJson !== "null") parseIdJson(idJson);
  return `{"jsonrpc":"2.0","error":${errorJson},"id":${idJson}}`;
}

/**
 * Read the JSON text of a request's id; large integers are rounded.
 *
 * @throws TypeError for a text that is no id
 */
export function parseIdJson(idJson: string): RequestId {
  const id = parseJson(idJson);
  if (typeof id === "string" || typeof id === "number") return id;
  throw new TypeError(`An id must be the JSON text of a string or a number, not ${idJson}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
