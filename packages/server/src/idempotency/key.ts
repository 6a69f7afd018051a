/**
 * The idempotency key of a POST: the IETF header, or a field of `_meta` from hosts that set no
 * headers [C X-03].
 */
import { idempotencyHeader, removeMember } from "@holdfast/contract";
import { type Incoming, type IncomingRequest, metaOf } from "../incoming.ts";

export const idempotencyMetaKey = "dev.holdfast/idempotency-key";

export type KeyOutcome =
  | { readonly kind: "key"; readonly key: string | undefined }
  | { readonly kind: "invalid"; readonly problem: string };

/** [C X-03] "Keys: 1–255 visible ASCII" */
const keyForm = /^[\x21-\x7e]{1,255}$/;

/**
 * @param header - value of the `Idempotency-Key` header
 * @param isArray - the POST is an array: keys belong to single requests
 * @param charsMin - keys that all callers share have to be hard to guess
 */
export function readKey(
  header: string | undefined,
  messages: readonly Incoming[],
  isArray: boolean,
  charsMin: number,
): KeyOutcome {
  const fields = messages.map(keyFieldOf).filter((field) => field !== undefined);
  if (header === undefined && fields.length === 0) return { kind: "key", key: undefined };
  if (isArray) return invalid("An idempotency key belongs to a single request, not to an array.");
  const [field] = fields;
  if (header !== undefined && field !== undefined && header !== field) {
    return invalid(`${idempotencyHeader} and _meta["${idempotencyMetaKey}"] differ.`);
  }
  const key = header ?? field;
  if (typeof key !== "string" || !keyForm.test(key)) {
    return invalid("An idempotency key has 1 to 255 characters of visible ASCII.");
  }
  if (key.length < charsMin) {
    return invalid(`An idempotency key must have at least ${charsMin} characters here.`);
  }
  return { kind: "key", key };
}

/** The request as the upstream gets it: the key is no business of its own [C E-12]. */
export function withoutKey(request: IncomingRequest): IncomingRequest {
  if (keyFieldOf(request) === undefined) return request;
  return { ...request, text: removeMember(request.text, ["params", "_meta"], idempotencyMetaKey) };
}

function keyFieldOf(message: Incoming): unknown {
  if (message.kind === "response") return undefined;
  return metaOf(message.params)?.[idempotencyMetaKey];
}

function invalid(problem: string): KeyOutcome {
  return { kind: "invalid", problem };
}
