/**
 * JSON-RPC messages: their types, and the one place that tells a value which is a message from one
 * which is not. It looks at parsed values to route them; what goes on the wire is the sender's own
 * text, which is never built from these [C E-12].
 */

export type RequestId = string | number;

export type JsonObject = Readonly<Record<string, unknown>>;

export interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface RequestMessage {
  readonly kind: "request";
  /** Large integers are rounded here; the text of the message keeps them. */
  readonly id: RequestId;
  readonly method: string;
  readonly params?: JsonObject;
}

export interface NotificationMessage {
  readonly kind: "notification";
  readonly method: string;
  readonly params?: JsonObject;
}

export type ResponseMessage =
  | { readonly kind: "response"; readonly id: RequestId; readonly result: unknown }
  | {
      readonly kind: "response";
      /** Null: the sender could not read the id of what it answers. */
      readonly id: RequestId | null;
      readonly error: JsonRpcError;
    };

export interface InvalidMessage {
  readonly kind: "invalid";
  /** What is wrong, as a sentence for the sender. */
  readonly problem: string;
}

export type Message = RequestMessage | NotificationMessage | ResponseMessage;

/**
 * Tell what a parsed JSON value is.
 *
 * @param value - one message; an array is none
 */
export function parseMessage(value: unknown): Message | InvalidMessage {
  if (!isObject(value)) return invalid("A message must be a JSON object.");
  if (value.jsonrpc !== "2.0") return invalid('A message must have "jsonrpc": "2.0".');
  const isCall = Object.hasOwn(value, "method");
  const isAnswer = Object.hasOwn(value, "result") || Object.hasOwn(value, "error");
  if (isCall && isAnswer) return invalid("A message cannot have a method and a result or error.");
  if (isCall) return parseCall(value);
  if (isAnswer) return parseResponse(value);
  return invalid("A message must have a method, a result or an error.");
}

/** True of the request that creates a session [C S-01]. */
export function isInitialize(message: Message | InvalidMessage): message is RequestMessage {
  return message.kind === "request" && message.method === "initialize";
}

/** Name of the tool or prompt, or URI of the resource, that a request is about, if it is. */
export function nameOf(message: Message): string | undefined {
  if (message.kind !== "request") return undefined;
  const member = namingMember.get(message.method);
  const name = member === undefined ? undefined : message.params?.[member];
  return typeof name === "string" ? name : undefined;
}

const namingMember: ReadonlyMap<string, "name" | "uri"> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["resources/subscribe", "uri"],
  ["resources/unsubscribe", "uri"],
]);

function parseCall(value: JsonObject): Message | InvalidMessage {
  const { method, params, id } = value;
  if (typeof method !== "string" || method === "") {
    return invalid("A method must be a non-empty string.");
  }
  if (Object.hasOwn(value, "params") && !isObject(params)) {
    return invalid("The params of a message must be a JSON object.");
  }
  const rest = isObject(params) ? { method, params } : { method };
  if (!Object.hasOwn(value, "id")) return { kind: "notification", ...rest };
  // [spec] unlike in base JSON-RPC, the id of a request must not be null.
  if (!isRequestId(id)) return invalid("The id of a request must be a string or a number.");
  return { kind: "request", id, ...rest };
}

function parseResponse(value: JsonObject): Message | InvalidMessage {
  const { id, result, error } = value;
  const hasError = Object.hasOwn(value, "error");
  if (hasError && Object.hasOwn(value, "result")) {
    return invalid("A response cannot have a result and an error.");
  }
  if (hasError) {
    if (!isError(error)) {
      return invalid("The error of a response must have an integer code and a string message.");
    }
    const isUnaddressed = id === null || !Object.hasOwn(value, "id");
    if (isUnaddressed) return { kind: "response", id: null, error };
    if (isRequestId(id)) return { kind: "response", id, error };
  }
  if (isRequestId(id)) return { kind: "response", id, result };
  return invalid("The id of a response must be a string or a number.");
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// `1e999` is JSON, and infinite once it is parsed.
function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || (typeof value === "number" && Number.isFinite(value));
}

function isError(value: unknown): value is JsonRpcError & JsonObject {
  if (!isObject(value)) return false;
  return Number.isInteger(value.code) && typeof value.message === "string";
}

function invalid(problem: string): InvalidMessage {
  return { kind: "invalid", problem };
}
