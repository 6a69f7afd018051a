/** The newest attempt that failed, as an error for people and programs. */
import { ClientError, HttpStatusError } from "../client-errors.ts";
import type { HttpOutcome } from "../http/exchange.ts";
import type { NetworkFault } from "../http/network-fault.ts";

/** @param url - of the server */
export function failureOf(last: HttpOutcome | undefined, url: URL): Error {
  if (last?.kind === "withheld") return last.error;
  if (last?.kind === "refused") {
    const { status, text } = last.refusal;
    return new HttpStatusError("The request", status, text);
  }
  if (last?.kind === "died") return unreachable(last.fault, url);
  if (last?.kind === "accepted") {
    const { status, contentType } = last;
    const text = `${placeOf(url)} answered ${status} with ${contentType ?? "nothing"}, which is no MCP.`;
    const hint = "Correct the path of the address: a web page may be at this one.";
    return new ClientError("ERR_NOT_RUN", text, { hint, seen: contentType });
  }
  return new ClientError("ERR_NOT_RUN", `${placeOf(url)} gave no whole answer.`);
}

/** @param then - what is done about it, as a sentence */
export function unreachable(fault: NetworkFault, url: URL, then = ""): ClientError {
  const { why, fix, code, cause } = fault;
  const text = `${placeOf(url)} could not be reached: ${why}.${then}`;
  return new ClientError("ERR_NOT_RUN", text, { hint: fix, seen: code, cause });
}

/** [C P-03] a query may hold a key. */
function placeOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
