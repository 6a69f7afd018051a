/**
 * One stream of an event log, shown to whoever may see it: the resume code of the endpoint for
 * streams that are no MCP session's. GET with `Last-Event-ID` goes on from there [C R-01]; a cursor
 * from before an evicted event is refused with the extent [C R-03]; without one it begins at the head.
 */
import {
  type EventPlace,
  encodeEventId,
  parseEventId,
  primingFrame,
  type Retention,
  resumeWindowExceeded,
} from "@holdfast/contract";
import { type EventLog, incarnationAt, type SessionId } from "@holdfast/log";
import { HeldText } from "../held-text.ts";
import { bounds } from "../options.ts";
import { Viewport, type ViewportSource } from "../viewport.ts";
import type { Headers, HttpReply, HttpRequest, Sink } from "./exchange.ts";
import { accepts } from "./negotiation.ts";
import { type Rejection, reject } from "./rejection.ts";
import { eventStreamHeaders } from "./stream-headers.ts";

export interface FeedSettings {
  readonly log: EventLog;
  readonly session: SessionId;
  readonly stream: number;
  readonly retention: Retention;
  readonly retryMs: number;
  readonly heartbeatMs: number;
  /** Readers at once. */
  readonly readersMax: number;
}

export class Feed {
  readonly #settings: FeedSettings;
  readonly #held = new HeldText();
  readonly #open = new Set<Viewport>();

  constructor(settings: FeedSettings) {
    this.#settings = settings;
  }

  /** The place of the newest event: who reads on from there misses nothing. @throws as the log */
  async head(): Promise<EventPlace> {
    const { log, session, stream } = this.#settings;
    const state = await log.session(session);
    const found = await log.stream(session, stream);
    if (state === undefined || found === undefined) throw new Error("there is nothing to follow");
    const incarnation = incarnationAt(found.runs, found.head) ?? "";
    return { tag: state.tag, stream, position: found.head, incarnation };
  }

  /** @returns why it was not served; undefined when it was. @throws as the log */
  async serve(
    request: HttpRequest,
    reply: HttpReply,
    headers: Headers,
  ): Promise<Rejection | undefined> {
    const { log, session, retention, readersMax, retryMs } = this.#settings;
    if (!accepts(request.header("accept"), "text/event-stream")) {
      return reject("not-acceptable", "This needs Accept: text/event-stream.");
    }
    if (this.#open.size >= readersMax) {
      return reject("overloaded", `There are ${readersMax} readers; no more are taken now.`);
    }
    const header = request.header("last-event-id");
    const cursor = header === undefined ? await this.head() : parseEventId(header);
    if (cursor === undefined) {
      return reject("invalid-event-id", "The Last-Event-ID is no event id of this server.");
    }
    const outcome = await log.read(session, cursor, readLimit);
    if (outcome.kind === "gap") {
      const data = resumeWindowExceeded(outcome.gap, retention);
      const message = "What came after the Last-Event-ID can no longer be sent.";
      return reject("resume-window-exceeded", message, { data: { ...data } });
    }
    if (outcome.kind !== "events") {
      return reject("foreign-event-id", "The Last-Event-ID belongs to another log.");
    }
    const sink = reply.stream({ ...headers, ...eventStreamHeaders });
    const preface = primingFrame(encodeEventId(cursor), retryMs);
    void this.#show(sink, cursor, preface);
    return undefined;
  }

  /** Let all readers go; they come back, here or to the next process. */
  release(): void {
    for (const viewport of this.#open) viewport.release(this.#settings.retryMs);
  }

  async #show(sink: Sink, cursor: EventPlace, preface: string): Promise<void> {
    const { log, session, stream, heartbeatMs, retryMs } = this.#settings;
    const source: ViewportSource = {
      stream,
      read: (place) => log.read(session, place, readLimit),
      follow: (wake) => log.follow(session, stream, wake),
      ended: () => undefined,
      ending: () => undefined,
      onWritten: () => {},
      onReplayed: () => {},
    };
    const settings = { heartbeatMs, retryMs, viewportMaxMs: 0 };
    const viewport = new Viewport(source, sink, settings, this.#held, cursor);
    this.#open.add(viewport);
    try {
      await viewport.run({ cursor, preface });
    } catch {
      // The log is gone: the reader comes back with its cursor.
      sink.destroy();
    } finally {
      this.#open.delete(viewport);
    }
  }
}

const readLimit = { events: bounds.readEventsMax, bytes: bounds.readBytesMax };
