/**
 * POST: a message of the client, or an array of them from a client of 2025-03-26.
 */
import {
  type EventPlace,
  encodeEventId,
  frameComment,
  idempotencyHeader,
  primingFrame,
} from "@holdfast/contract";
import { readKey, withoutKey } from "../idempotency/key.ts";
import { keyHolder } from "../idempotency/key-scope.ts";
import { type Incoming, type IncomingRequest, readIncoming } from "../incoming.ts";
import type { SessionFace } from "../session-face.ts";
import type { Exchange, Handled } from "./endpoint.ts";
import { checkNewCalls, checkNewSession, holdingPlaces } from "./limits.ts";
import { checkVersion } from "./negotiation.ts";
import { idJsonOf, isObject, type Posted, readMessages, readPost } from "./post-body.ts";
import { type Rejection, reject, storeUnavailable } from "./rejection.ts";
import { absent, findSession, forwardedHeaders } from "./session-lookup.ts";
import { eventStreamHeaders } from "./stream-headers.ts";

export async function handlePost(exchange: Exchange): Handled {
  const posted = await readPost(exchange);
  const draining = checkDraining(exchange, posted);
  if (draining !== undefined) return draining;
  if ("type" in posted) return posted;
  const { value } = posted;
  if (isObject(value) && value["method"] === "initialize") return postInitialize(exchange, posted);

  const bodies: readonly unknown[] = Array.isArray(value) ? value : [value];
  for (let moves = 0; moves < movesMax; moves++) {
    const found = await findSession(exchange, bodies);
    if (found.kind === "rejected") return { ...found.rejection, idJson: idJsonOf(posted) };
    const handled = await postTo(exchange, found.session, posted);
    if (handled !== "moved") return handled;
  }
  return storeUnavailable(true, idJsonOf(posted));
}

/** How often a session may change its owner under one request. */
const movesMax = 3;

async function postTo(
  exchange: Exchange,
  session: SessionFace,
  posted: Posted,
): Promise<Rejection | undefined | "moved"> {
  const messages = readMessages(posted, session.version);
  if ("type" in messages) return { ...messages, idJson: idJsonOf(posted) };
  const requests = messages.filter((message) => message.kind === "request");
  const limit = checkNewCalls(exchange, session, requests);
  if (limit !== undefined) return limit;
  if (requests.length > 0) {
    return postRequests(exchange, session, messages, {
      requests,
      isArray: Array.isArray(posted.value),
    });
  }
  const told = await session.tell(messages, forwardedHeaders(exchange));
  if (told.kind === "moved") return "moved";
  if (told.kind !== "told") return refuseOpen(told.kind, undefined);
  exchange.reply.send(202, exchange.headers);
  return undefined;
}

/**
 * [C D-02] New work is refused while the server drains; what the running calls wait for is not:
 * answers to their questions, cancellations. With a shared log nothing is: other nodes take it.
 */
function checkDraining({ endpoint }: Exchange, posted: Rejection | Posted): Rejection | undefined {
  if (!endpoint.isDraining() || endpoint.context.log.shared !== undefined) return undefined;
  const bodies = "type" in posted ? [] : [posted.value].flat();
  const isPartOfOld = bodies.length > 0 && bodies.every(isNoRequest);
  if (isPartOfOld) return undefined;
  const idJson = "type" in posted ? undefined : idJsonOf(posted);
  return reject("draining", "The server is about to stop; try again in a moment.", { idJson });
}

function isNoRequest(value: unknown): boolean {
  return isObject(value) && !(Object.hasOwn(value, "method") && Object.hasOwn(value, "id"));
}

async function postInitialize(exchange: Exchange, posted: Posted): Handled {
  const { endpoint, request, principal, headers } = exchange;
  const idJson = idJsonOf(posted);
  const version = checkVersion(request.header("mcp-protocol-version"), [], undefined);
  if (version !== undefined) return { ...version, idJson };
  if ((request.header("mcp-session-id") ?? "") !== "") {
    const message = "An initialize opens a new session; send it without Mcp-Session-Id.";
    return reject("session-not-allowed", message, { idJson });
  }
  const message = readIncoming(posted.text, posted.value);
  if (message.kind !== "request") {
    const problem = message.kind === "invalid" ? message.problem : "An initialize needs an id.";
    return reject("invalid-request", problem, { idJson });
  }
  const limit = await checkNewSession(exchange, message.idJson);
  const forwarded = forwardedHeaders(exchange);
  if (limit !== undefined) return limit;
  const created = await holdingPlaces(exchange, undefined, 1, () =>
    endpoint.sessions.create(withoutKey(message), principal, forwarded),
  ).catch((error: unknown) => refuseStore(exchange, error, message));
  if ("type" in created) return created;
  const { session, outcome } = created;
  if (outcome.kind === "moved") return storeUnavailable(true, idJson);
  if (outcome.kind !== "opened") return refuseOpen(outcome.kind, message);
  const withId = { ...headers, "mcp-session-id": session.id };
  show({ ...exchange, headers: withId }, session, outcome.begin);
  await firstBytesOut();
  await outcome.start();
  return undefined;
}

async function postRequests(
  exchange: Exchange,
  session: SessionFace,
  messages: readonly Incoming[],
  { requests, isArray }: { requests: readonly IncomingRequest[]; isArray: boolean },
): Promise<Rejection | undefined | "moved"> {
  const { endpoint, request } = exchange;
  const { keyScope } = endpoint.context;
  const [first] = requests;
  const read = readKey(
    request.header(idempotencyHeader.toLowerCase()),
    messages,
    isArray,
    keyScope === "shared" ? sharedKeyCharsMin : 1,
  );
  if (read.kind === "invalid") {
    return reject("invalid-idempotency-key", read.problem, { idJson: first?.idJson });
  }
  const holder = keyHolder(keyScope, exchange.principal, session.tag);
  const isKeyed = read.key !== undefined && first !== undefined;
  const key = isKeyed ? { scope: holder, key: read.key } : undefined;
  const calls = isKeyed ? [withoutKey(first)] : requests;
  const posted = { messages: isKeyed ? calls : messages, requests: calls, key };
  const headers = forwardedHeaders(exchange);
  const opened = () => session.open({ ...posted, headers });
  const outcome = await holdingPlaces(exchange, session, requests.length, opened).catch(
    (error: unknown) => refuseStore(exchange, error, first),
  );
  if ("type" in outcome) return outcome;
  if (outcome.kind === "moved") return "moved";
  if (outcome.kind !== "opened") return refuseOpen(outcome.kind, first);
  show(exchange, session, outcome.begin);
  await firstBytesOut();
  await outcome.start();
  return undefined;
}

/** [C X-03] keys that everybody shares have at least so many characters */
const sharedKeyCharsMin = 16;

/** [C E-05] The stream begins at once. */
function show(
  { endpoint, reply, headers }: Exchange,
  session: SessionFace,
  cursor: EventPlace,
): void {
  const id = encodeEventId(cursor);
  const preface = session.isPrimed
    ? primingFrame(id, endpoint.context.options.retryMs)
    : frameComment("stream open");
  const sink = reply.stream({ ...headers, ...eventStreamHeaders });
  session.viewports.show(sink, { cursor, preface });
}

/**
 * [C E-05] "headers and a first body byte are flushed before the handler runs": what was written in
 * this turn of the loop leaves at its end, and a handler may keep the process for long.
 */
function firstBytesOut(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function refuseStore(
  { endpoint }: Exchange,
  error: unknown,
  request: IncomingRequest | undefined,
): Rejection {
  endpoint.context.logger.error({ error }, "a call was refused: the log did not take it");
  return storeUnavailable(true, request?.idJson);
}

function refuseOpen(
  kind: "full" | "absent" | "reuse" | "deep",
  request: IncomingRequest | undefined,
): Rejection {
  const idJson = request?.idJson;
  switch (kind) {
    case "full":
      return reject(
        "overloaded",
        "The results that are kept fill the session's share of the log (--max-bytes), or those " +
          "of idempotency keys all that they may (--max-key-bytes); try again when their time " +
          "has passed.",
        { idJson },
      );
    case "reuse":
      return reject(
        "idempotency-key-reuse",
        "This idempotency key was used for a call with another payload. Nothing was run.",
        { idJson },
      );
    case "deep":
      return reject("invalid-idempotency-key", "A call this deeply nested cannot have a key.", {
        idJson,
      });
    case "absent":
      return { ...absent("ended"), idJson };
  }
}
