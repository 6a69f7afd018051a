/**
 * What the transport throws, and rejects with; its codes are in the contract's one table. Gaps,
 * unknown outcomes, endings and parking are events for the application, and not here.
 */
import { type ClientErrorCode, HoldfastError } from "@holdfast/contract";

/** An error of the transport, with a stable code, a sentence for people and a hint on what to do. */
export class ClientError<
  Code extends ClientErrorCode = ClientErrorCode,
> extends HoldfastError<Code> {
  override readonly name: string = "ClientError";
}

/** The answer of a server that refuses one request; `status` is its HTTP status. */
export class HttpStatusError extends ClientError<"ERR_HTTP_STATUS"> {
  override readonly name = "HttpStatusError";
  readonly status: number;
  /** The beginning of the answer's body. */
  readonly body: string;

  constructor(what: string, status: number, body: string) {
    const said = body.trim() === "" ? "" : `: ${body.trim().slice(0, 200)}`;
    super("ERR_HTTP_STATUS", `${what} was answered with status ${status}${said}`, {
      seen: status,
    });
    this.status = status;
    this.body = body;
  }
}
