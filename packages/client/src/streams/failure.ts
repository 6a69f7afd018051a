/** The newest attempt that failed, as an error for people and programs. */
import { ClientError, HttpStatusError } from "../client-errors.ts";
import type { HttpOutcome } from "../http/exchange.ts";

export function failureOf(last: HttpOutcome | undefined): Error {
  if (last?.kind === "withheld") return last.error;
  if (last?.kind === "refused") {
    const { status, text } = last.refusal;
    return new HttpStatusError("The request", status, text);
  }
  return new ClientError(
    "ERR_NOT_RUN",
    "The server could not be reached; the request did not run.",
  );
}
