/** Any bytes to the endpoint, and what it makes of them; no rule of HTTP is kept for the sender. */
import { connect } from "node:net";
import { type ResponseHead, responseReader } from "../http-response.ts";
import { within } from "../wait-for.ts";

export interface RawAnswer extends ResponseHead {
  readonly body: string;
}

export interface RawSending {
  readonly bytes: Uint8Array;
  /** Of the request: a HEAD is answered without a body. */
  readonly method: string;
  /** False: it may lack its end; the sending side is closed behind it. */
  readonly isWhole: boolean;
  /** Told of the head; then the body is read until it ends, or holds this text. */
  onHead?(head: ResponseHead): string | undefined;
}

/** @returns the first answer, as far as it was read; undefined for a connection closed without */
export async function rawAnswer(
  target: { readonly host: string; readonly port: number },
  { bytes, method, isWhole, onHead }: RawSending,
): Promise<RawAnswer | undefined> {
  const socket = connect({ ...target, noDelay: true });
  const reader = responseReader(method);
  let head: ResponseHead | undefined;
  let body = Buffer.alloc(0);
  let enough: string | undefined;
  const over = new Promise<void>((resolve, reject) => {
    socket.on("error", () => resolve());
    socket.on("close", () => resolve());
    socket.on("data", (data) => {
      try {
        for (const piece of reader.read(data)) {
          if (piece.kind === "end") resolve();
          if (piece.kind === "body") body = Buffer.concat([body, piece.bytes]);
          if (piece.kind === "head") {
            head ??= piece.head;
            enough = onHead?.(piece.head);
          }
        }
        if (enough !== undefined && body.includes(enough)) resolve();
      } catch (error) {
        reject(error);
      }
    });
  });
  socket.write(bytes);
  if (!isWhole) socket.end();
  try {
    await within(over, `an answer to ${Buffer.from(bytes).toString("latin1").slice(0, 2_000)}`);
  } finally {
    socket.destroy();
  }
  return head === undefined ? undefined : { ...head, body: body.toString("utf8") };
}
