/**
 * What the application sends: each message gets its id for the wire, finds its session, and is
 * noted before it leaves.
 */
import {
  isRepeatableMethod,
  type JsonObject,
  type NotificationMessage,
  parseMessage,
  type RequestMessage,
  type ResponseMessage,
  replaceAt,
} from "@holdfast/contract";
import { handOnOutcome } from "./calls/call-ends.ts";
import { requestDigest } from "./calls/identical.ts";
import { callsMax } from "./calls/ledger.ts";
import { appCall, type Written } from "./calls/new-call.ts";
import { ClientError } from "./client-errors.ts";
import type { Connection } from "./connection.ts";
import type { Session } from "./sessions/session.ts";
import { PostStream } from "./streams/post-stream.ts";
import { callSubject, oneWaySubject } from "./streams/subjects.ts";

export interface SendOptions {
  /** Refused: the transport resumes by itself. */
  readonly resumptionToken?: string | undefined;
  /** Sent with this message alone, unless the transport has headers of the same names. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The same message as JSON: sent byte for byte but for its id and progress token. */
  readonly text?: string | undefined;
}

/** @returns resolves when the answer to the POST has begun, or the call has ended */
export async function sendMessage(
  connection: Connection,
  raw: object,
  options: SendOptions = {},
): Promise<void> {
  if (options.resumptionToken !== undefined) {
    // Sent anew it would run twice.
    throw new ClientError("ERR_CLIENT_OPTION", "The transport resumes calls by itself.", {
      hint: "Leave resumptionToken out; recovered() has the calls of an earlier process.",
    });
  }
  // SDK clients leave members undefined, which JSON does not know.
  const body: JsonObject = Object.fromEntries(
    Object.entries(raw).filter(([, member]) => member !== undefined),
  );
  const message = parseMessage(body);
  switch (message.kind) {
    case "invalid":
      throw new ClientError("ERR_CLIENT_OPTION", `No message: ${message.problem}`);
    case "request":
      if (message.method === "initialize") {
        return connection.sessions.initialize(message.id, { message: body, text: options.text });
      }
      if (attach(connection, message, body)) return;
      return sendRequest(connection, message, body, options);
    case "notification":
      return sendNotification(connection, message, { message: body, text: options.text });
    case "response":
      return sendAnswer(connection, message, { message: body, text: options.text });
  }
}

function sendRequest(
  connection: Connection,
  { id }: RequestMessage,
  body: JsonObject,
  { headers = {}, text }: SendOptions,
): Promise<void> {
  const { ledger, sessions } = connection;
  if (ledger.size >= callsMax) {
    throw new ClientError("ERR_NOT_RUN", `More than ${callsMax} calls are in flight.`);
  }
  const { current } = sessions;
  const call = appCall(connection, id, { message: body, text }, current.capability);
  const onAccepted = () => {
    call.isAccepted = true;
    call.sent.resolve();
    sessions.dispatch({ type: "served" });
  };
  const subject = callSubject(connection, call, { cursor: null, headers, onAccepted });
  sessions.begin(new PostStream(connection, current, subject));
  return call.sent.promise;
}

/**
 * [C K-10] Take over an identical call of an earlier process, in place of making it again. What
 * only reads is made again: its old answer would be stale, and nothing is done twice.
 */
function attach(
  connection: Connection,
  { id, method, params }: RequestMessage,
  body: JsonObject,
): boolean {
  if (connection.settings.reattach !== true || isRepeatableMethod(method)) return false;
  const claim = connection.recovered.claim(requestDigest(method, params));
  if (claim === undefined) return false;
  const { call, outcome } = claim;
  const { _meta } = Object(body.params) as JsonObject;
  const { progressToken } = Object(_meta) as JsonObject;
  call.caller = { kind: "app", id, progressToken };
  if (outcome !== undefined) queueMicrotask(() => handOnOutcome(connection, call, outcome));
  return true;
}

function sendNotification(
  connection: Connection,
  message: NotificationMessage,
  body: Written,
): Promise<void> {
  switch (message.method) {
    case "notifications/initialized":
      return connection.sessions.initialized(body);
    case "notifications/cancelled":
      return cancel(connection, message, body);
    case "notifications/progress":
      return post(connection, connection.sessions.current, body, true);
    default:
      return post(connection, connection.sessions.current, body, false);
  }
}

/** [C X-01] The call ends for the application at once; the server is told by its own id. */
async function cancel(
  connection: Connection,
  { params }: NotificationMessage,
  { message, text }: Written,
): Promise<void> {
  const call = connection.ledger.findByAppId(params?.requestId);
  // It has ended already.
  if (call === undefined) return;
  const stream = connection.streamOf(call.wireId);
  const isSent = stream !== undefined && stream.runner.state.at !== "held";
  connection.ledger.end(call, { kind: "cancelled" });
  connection.settle(call.wireId);
  if (!isSent) return;
  const named = { ...message, params: { ...params, requestId: call.wireId } };
  const namedText =
    text === undefined ? text : replaceAt(text, ["params", "requestId"], String(call.wireId));
  await post(connection, stream.session, { message: named, text: namedText }, true);
}

/** [C X-06] on any connection, but in the session that asked. */
async function sendAnswer(
  connection: Connection,
  { id }: ResponseMessage,
  body: Written,
): Promise<void> {
  const session = connection.inbox.takeQuestion(id);
  if (session === undefined || session.standing === "over") return;
  await post(connection, session, body, true);
}

function post(
  connection: Connection,
  session: Session,
  body: Written,
  isBound: boolean,
): Promise<void> {
  // A session that is over has nobody who could hear it.
  if (isBound && session.standing === "over") return Promise.resolve();
  const done = Promise.withResolvers<void>();
  const subject = oneWaySubject(body, { isBound, isSetup: false }, done);
  connection.sessions.begin(new PostStream(connection, session, subject));
  return done.promise;
}
