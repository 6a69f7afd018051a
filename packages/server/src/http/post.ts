/**
 * POST: a message of the client, or an array of them from a client of 2025-03-26.
 */
import { isUtf8 } from "node:buffer";
import { allowsArrays, encodeEventId, frameComment, primingFrame } from "@holdfast/contract";
import { type Incoming, type IncomingRequest, readIncoming } from "../incoming.ts";
import { elementsOf } from "../json/locate.ts";
import type { OpenOutcome, Session } from "../session.ts";
import type { Headers, HttpReply, HttpRequest } from "./exchange.ts";
import type { Endpoint } from "./handler.ts";
import { accepts, checkContentType, checkVersion } from "./negotiation.ts";
import { type Rejection, reject } from "./rejection.ts";
import { absent, findSession } from "./session-lookup.ts";
import { eventStreamHeaders } from "./stream-headers.ts";

export async function handlePost(
  endpoint: Endpoint,
  request: HttpRequest,
  reply: HttpReply,
  headers: Headers,
): Promise<Rejection | undefined> {
  const posted = await readPost(endpoint, request);
  if ("type" in posted) return posted;
  const { text, value } = posted;
  const isInitialize = isObject(value) && value["method"] === "initialize";
  if (isInitialize) return postInitialize(endpoint, request, reply, headers, text, value);

  const bodies: readonly unknown[] = Array.isArray(value) ? value : [value];
  const found = await findSession(endpoint, request, bodies);
  if (found.kind === "rejected") return { ...found.rejection, idJson: idJsonOf(text, value) };
  const { session } = found;
  const read = readMessages(text, value, session);
  if ("type" in read) return { ...read, idJson: idJsonOf(text, value) };
  const requests = read.filter((message) => message.kind === "request");
  if (session.isOverloaded) {
    return reject("overloaded", "The upstream does not keep up; try again later.", {
      idJson: requests[0]?.idJson,
    });
  }
  if (requests.length > 0) {
    const outcome = await session.open(requests);
    if (outcome.kind !== "opened") return refuseOpen(outcome, requests);
    show(session, reply, headers, outcome, session.isPrimed, endpoint);
    await firstBytesOut();
    // In the order in which they were sent: a batch may hold notifications too.
    for (const message of read) tell(session, message);
    session.deliver(outcome);
    return undefined;
  }
  for (const message of read) tell(session, message);
  reply.send(202, headers);
  return undefined;
}

async function postInitialize(
  endpoint: Endpoint,
  request: HttpRequest,
  reply: HttpReply,
  headers: Headers,
  text: string,
  value: unknown,
): Promise<Rejection | undefined> {
  const idJson = idJsonOf(text, value);
  const version = checkVersion(request.header("mcp-protocol-version"), [], undefined);
  if (version !== undefined) return { ...version, idJson };
  if ((request.header("mcp-session-id") ?? "") !== "") {
    const message = "An initialize opens a new session; send it without Mcp-Session-Id.";
    return reject("session-not-allowed", message, { idJson });
  }
  const message = readIncoming(text, value);
  if (message.kind !== "request") {
    const problem = message.kind === "invalid" ? message.problem : "An initialize needs an id.";
    return reject("invalid-request", problem, { idJson });
  }
  const { session, outcome } = await endpoint.sessions.create(message, "");
  if (outcome.kind !== "opened") return refuseOpen(outcome, [message]);
  show(session, reply, { ...headers, "mcp-session-id": session.id }, outcome, false, endpoint);
  await firstBytesOut();
  session.deliver(outcome);
  return undefined;
}

/** [C D-04] Everything about the body that can be said before the session is looked up. */
async function readPost(
  endpoint: Endpoint,
  request: HttpRequest,
): Promise<Rejection | { readonly text: string; readonly value: unknown }> {
  if (endpoint.isDraining()) {
    return reject("draining", "The server is about to stop; try again in a moment.");
  }
  const accept = request.header("accept");
  if (!accepts(accept, "text/event-stream") || !accepts(accept, "application/json")) {
    return reject("not-acceptable", "A POST needs Accept: application/json, text/event-stream.");
  }
  const contentType = checkContentType(
    request.header("content-type"),
    request.header("content-encoding"),
  );
  if (contentType !== undefined) return contentType;
  const { bodyBytesMax } = endpoint.context.options;
  const body = await request.body(bodyBytesMax);
  if (body.kind === "too-large") {
    const message = `The body is larger than ${bodyBytesMax} bytes. Nothing was run.`;
    return reject("body-too-large", message, { data: { bodyBytesMax } });
  }
  if (body.kind === "incomplete") return reject("parse-error", "The body did not arrive whole.");
  if (!isUtf8(body.bytes)) return reject("parse-error", "The body is not UTF-8.");
  const text = decoder.decode(body.bytes);
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    // The engine quotes the body beside the position; bodies stay out of messages [C P-03].
    const at = error instanceof Error ? / at position \d+/.exec(error.message)?.[0] : undefined;
    return reject("parse-error", `The body is not JSON${at ?? ""}.`);
  }
}

/** A byte order mark at the beginning is let go, as [RFC 8259 8.1] allows. */
const decoder = new TextDecoder();

/** The messages of a body whose session is known. */
function readMessages(
  text: string,
  value: unknown,
  session: Session,
): Rejection | readonly Incoming[] {
  const isArray = Array.isArray(value);
  // [C E-01] arrays belong to 2025-03-26, and nothing but initialize comes before initialize.
  if (isArray && (session.version === undefined || !allowsArrays(session.version))) {
    const version = session.version ?? "a session that is not initialized";
    return reject(
      "invalid-request",
      `Arrays of messages are not part of ${version}. Send one at a time.`,
    );
  }
  if (isArray && value.length === 0) return reject("invalid-request", "The array is empty.");
  const parts: readonly (readonly [string, unknown])[] = isArray
    ? elementsOf(text).map(({ start, end }, index) => [text.slice(start, end), value[index]])
    : [[text, value]];
  const messages: Incoming[] = [];
  for (const [part, partValue] of parts) {
    const message = readIncoming(part, partValue);
    if (message.kind === "invalid") return reject("invalid-request", message.problem);
    if (message.kind === "request" && message.method === "initialize") {
      return reject("invalid-request", "An initialize cannot stand in an array.");
    }
    messages.push(message);
  }
  return messages;
}

function tell(session: Session, message: Incoming): void {
  if (message.kind === "notification") session.notify(message);
  else if (message.kind === "response") session.answer(message);
}

/** [C E-05] The stream begins at once. */
function show(
  session: Session,
  reply: HttpReply,
  headers: Headers,
  opened: OpenOutcome & { readonly kind: "opened" },
  isPrimed: boolean,
  endpoint: Endpoint,
): void {
  const id = encodeEventId(opened.begin);
  const preface = isPrimed
    ? primingFrame(id, endpoint.context.options.retryMs)
    : frameComment("stream open");
  const sink = reply.stream({ ...headers, ...eventStreamHeaders });
  session.show(sink, { cursor: opened.begin, preface });
}

/**
 * [C E-05] "headers and a first body byte are flushed before the handler runs": what was written in
 * this turn of the loop leaves at its end, and a handler may keep the process for long.
 */
function firstBytesOut(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function refuseOpen(
  outcome: Exclude<OpenOutcome, { readonly kind: "opened" }>,
  requests: readonly IncomingRequest[],
): Rejection {
  if (outcome.kind === "absent") return absent("ended");
  return reject(
    "overloaded",
    "The results that are kept for this session fill its share of the log (--max-bytes); " +
      "try again when their window has passed.",
    { idJson: requests[0]?.idJson },
  );
}

/** The id that a refusal answers: that of a single request. */
function idJsonOf(text: string, value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  const message = readIncoming(text, value);
  return message.kind === "request" ? message.idJson : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
