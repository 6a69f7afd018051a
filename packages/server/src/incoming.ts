/**
 * A client's messages as the session takes them: parsed once for what routing needs, text kept.
 */
import { nameOf, parseMessage, textAt } from "@holdfast/contract";

export interface IncomingRequest {
  readonly kind: "request";
  readonly text: string;
  readonly method: string;
  readonly name: string | undefined;
  readonly params: Readonly<Record<string, unknown>> | undefined;
  readonly idJson: string;
  readonly tokenJson: string | undefined;
}

export interface IncomingNotification {
  readonly kind: "notification";
  readonly text: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>> | undefined;
}

export interface IncomingResponse {
  readonly kind: "response";
  readonly text: string;
  readonly idJson: string;
}

export type Incoming = IncomingRequest | IncomingNotification | IncomingResponse;

/** One message, or what is wrong with its shape. */
export function readIncoming(
  text: string,
  value: unknown,
): Incoming | { readonly kind: "invalid"; readonly problem: string } {
  const message = parseMessage(value);
  switch (message.kind) {
    case "request": {
      const token = progressTokenOf(message.params);
      return {
        kind: "request",
        text,
        method: message.method,
        name: nameOf(message),
        params: message.params,
        idJson: textAt(text, "id") ?? "null",
        tokenJson:
          token === undefined ? undefined : textAt(text, "params", "_meta", "progressToken"),
      };
    }
    case "notification":
      return { kind: "notification", text, method: message.method, params: message.params };
    case "response":
      return { kind: "response", text, idJson: textAt(text, "id") ?? "null" };
    case "invalid":
      return message;
  }
}

/** `params._meta`, when it is an object. */
export function metaOf(
  params: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, unknown>> | undefined {
  const meta = params?.["_meta"];
  return typeof meta === "object" && meta !== null && !Array.isArray(meta)
    ? (meta as Record<string, unknown>)
    : undefined;
}

function progressTokenOf(
  params: Readonly<Record<string, unknown>> | undefined,
): string | number | undefined {
  const token = metaOf(params)?.["progressToken"];
  return typeof token === "string" || typeof token === "number" ? token : undefined;
}
