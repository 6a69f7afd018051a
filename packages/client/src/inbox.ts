/**
 * What servers say: each message finds who it is for, under the id that it knows there. A message
 * that is for nobody any more is dropped: ids on the wire are never used again [C K-14].
 */
import {
  elementsOf,
  type JsonObject,
  type Message,
  type NotificationMessage,
  parseMessage,
  type RequestId,
  replaceAt,
} from "@holdfast/contract";
import { endOf } from "./calls/outcomes.ts";
import type { Came, Connection, Stream } from "./connection.ts";
import { type Session, setupAfter, storedOf } from "./sessions/session.ts";
import type { StateChange } from "./state/client-state.ts";

/** Requests of servers that were not answered yet; older ones are forgotten. */
const questionsMax = 10_000;

export class Inbox {
  readonly #connection: Connection;
  /** By the JSON of their ids: the answer belongs into the session that asked. */
  readonly #questions = new Map<string, Session>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * @param isRepeat - it was handed on before: only a response that is still waited for counts
   * @param changes - how it moves the cursor
   * @returns whether anything was handed on
   */
  text(
    data: string,
    stream: Stream,
    isRepeat: boolean,
    changes: readonly StateChange[] = [],
  ): boolean {
    let value: unknown;
    try {
      value = JSON.parse(data);
    } catch {
      this.#connection.app.onError(new SyntaxError("An event holds something that is no JSON."));
      return false;
    }
    // 2025-03-26 has arrays of messages.
    if (!Array.isArray(value))
      return this.#value(value, { text: () => data, stream, changes }, isRepeat);
    const spans = elementsOf(data);
    const handedOn = value.map((one, index) => {
      const text = () => data.slice(spans[index]?.start, spans[index]?.end);
      // The cursor moves with the last of them.
      const came = { text, stream, changes: index === value.length - 1 ? changes : [] };
      return this.#value(one, came, isRepeat);
    });
    return handedOn.some((isNews) => isNews);
  }

  #value(value: unknown, came: Came, isRepeat: boolean): boolean {
    const message = parseMessage(value);
    if (message.kind === "invalid") {
      this.#connection.app.onError(new SyntaxError(`No message: ${message.problem}`));
      return false;
    }
    if (message.kind === "response") return this.#response(message, came);
    if (isRepeat) return false;
    // A message that was understood is an object.
    return message.kind === "request"
      ? this.#question(message.id, value as JsonObject, came)
      : this.#notification(message, value as JsonObject, came);
  }

  /** The session that asked; once. */
  takeQuestion(id: RequestId | null): Session | undefined {
    const key = JSON.stringify(id);
    const session = this.#questions.get(key);
    this.#questions.delete(key);
    return session;
  }

  #response(response: Extract<Message, { kind: "response" }>, came: Came): boolean {
    const { ledger, annotations, sessions, writer, settings } = this.#connection;
    const call = ledger.find(response.id);
    if (call === undefined) return false;
    const { method } = call.stored;
    if ("result" in response) {
      if (method === "tools/list") annotations.learn(response.result);
      const { current } = sessions;
      const before = current.setup;
      current.setup = setupAfter(before, method, Object(call.message.params) as JsonObject);
      if (current.setup !== before) {
        writer.after({ change: "putSession", session: storedOf(current, settings.url) });
      }
    }
    const { wireId, caller } = call;
    if (caller.kind === "app") {
      const text = () => replaceAt(came.text(), ["id"], JSON.stringify(caller.id));
      call.came = { ...came, text, changes: [...came.changes, { change: "dropCall", wireId }] };
    }
    ledger.end(call, endOf(response));
    this.#connection.settle(call.wireId);
    return true;
  }

  #question(id: RequestId, raw: JsonObject, came: Came): boolean {
    this.#questions.set(JSON.stringify(id), came.stream.session);
    if (this.#questions.size > questionsMax) {
      const [oldest] = this.#questions.keys();
      if (oldest !== undefined) this.#questions.delete(oldest);
    }
    this.#connection.handOn(raw, came);
    return true;
  }

  #notification(message: NotificationMessage, raw: JsonObject, came: Came): boolean {
    const { annotations } = this.#connection;
    if (message.method === "notifications/progress") return this.#progress(message, came);
    if (message.method === "notifications/tools/list_changed") annotations.forget();
    if (message.method === "notifications/message") this.#noteGap(message, came.stream);
    this.#connection.handOn(raw, came);
    return true;
  }

  /** Tokens on the wire are the ids of calls. */
  #progress({ method, params }: NotificationMessage, came: Came): boolean {
    const caller = this.#connection.ledger.find(params?.progressToken)?.caller;
    if (caller?.kind !== "app" || caller.progressToken === undefined) return false;
    const { progressToken } = caller;
    const path = ["params", "progressToken"];
    const text = () => replaceAt(came.text(), path, JSON.stringify(progressToken));
    const message = { jsonrpc: "2.0", method, params: { ...params, progressToken } };
    this.#connection.handOn(message, { ...came, text });
    return true;
  }

  /** [C R-09] a server that tells gaps in-band tells them here, too. */
  #noteGap({ params }: NotificationMessage, stream: Stream): void {
    const data = Object(params?.data) as JsonObject;
    if (params?.logger !== "holdfast" || data.type !== "resume-window-exceeded") return;
    this.#connection.app.onGap({
      type: "resume-window-exceeded",
      lane: stream.lane,
      stream: typeof data.stream === "number" ? data.stream : null,
      from: typeof data.requested === "string" ? data.requested : null,
      to: typeof data.oldestEventId === "string" ? data.oldestEventId : null,
      lostEvents: typeof data.lostEvents === "number" ? data.lostEvents : null,
      requestIds: stream.requestIds(),
    });
  }
}
