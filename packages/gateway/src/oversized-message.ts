/**
 * What can still be told about a JSON-RPC message of which only the beginning and the end are
 * there: whether it was a response or a request, and its id.
 *
 * Pure. Says nothing rather than something wrong: the pieces may be cut anywhere.
 */

export type OversizedMessage =
  | { readonly kind: "response" | "request"; readonly idJson: string }
  | { readonly kind: "unknown" };

const unknown: OversizedMessage = { kind: "unknown" };

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gy;
const blanks = /\s*/y;

/** An id that closes the message: `…,"id":7}`, with or without a `"jsonrpc"` behind it. */
const idAtEnd =
  /,\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/**
 * @param head - the first characters of the message
 * @param end - its last ones
 * @returns the id as JSON text; `unknown` for a notification, an array, or when it cannot be told
 */
export function identifyOversized(head: string, end: string): OversizedMessage {
  const members = firstMembers(head);
  const isRequest = members.has("method") || members.has("params");
  const isResponse = members.has("result") || members.has("error");
  if (isRequest === isResponse) return unknown;
  const idJson = members.get("id") || idAtEnd.exec(end)?.[1];
  if (idJson === undefined || !/^["0-9-]/.test(idJson)) return unknown;
  return { kind: isRequest ? "request" : "response", idJson };
}

/** Members of the outermost object, up to the one that reaches beyond the text (valued `""`). */
function firstMembers(head: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  let depth = 0;
  let key: string | undefined;
  let isValue = false;
  for (const { text, end } of tokensOf(head)) {
    if (text === "}" || text === "]") depth--;
    if (depth === 1 && text === ",") {
      isValue = false;
    } else if (depth === 1 && text === ":") {
      isValue = true;
      if (key !== undefined) members.set(key, "");
    } else if (depth === 1 && !isValue) {
      key = text.startsWith('"') ? text.slice(1, -1) : undefined;
    } else if (depth === 1 && key !== undefined && end < head.length) {
      // A value at the very end of the text may go on behind it.
      members.set(key, text);
    }
    if (text === "{" || text === "[") depth++;
    if (depth === 0) break;
  }
  return members;
}

function* tokensOf(head: string): Generator<{ readonly text: string; readonly end: number }> {
  let at = 0;
  for (;;) {
    blanks.lastIndex = at;
    blanks.exec(head);
    tokens.lastIndex = blanks.lastIndex;
    const match = tokens.exec(head);
    if (match === null) return;
    at = tokens.lastIndex;
    yield { text: match[0], end: at };
  }
}
