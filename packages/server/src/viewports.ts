/**
 * The viewports of one session: at most one for each stream, the newest [C R-02].
 */
import { type EventPlace, encodeEventId, LogError, standaloneStream } from "@holdfast/contract";
import {
  incarnationAt,
  type Op,
  type ReadOutcome,
  type SessionId,
  type StreamState,
} from "@holdfast/log";
import type { Sink } from "./http/exchange.ts";
import { LostViewports } from "./lost-viewports.ts";
import { bounds } from "./options.ts";
import { RefusedCursors } from "./refused-cursors.ts";
import type { RuntimeContext } from "./runtime-context.ts";
import { isNobodys, isRefused, nobodysViewer, viewerOf, withRefusal } from "./viewer.ts";
import { Viewport, type ViewportEnd, type ViewportSource, type ViewportStart } from "./viewport.ts";

/** What the session gives its viewports. */
export interface ViewportHost extends Pick<ViewportSource, "ended" | "ending"> {
  readonly id: SessionId;
  readonly tag: string;
  /** The standalone stream was shown up to here; stored lazily. */
  storeWritten(position: number): Promise<unknown>;
  /** @param after - the reader has everything up to here */
  onShown(stream: number, after: number, isResume: boolean): void;
  onClosed(stream: number, end: ViewportEnd): void;
}

export class Viewports {
  #host: ViewportHost;
  readonly #context: RuntimeContext;
  readonly #byStream = new Map<number, Viewport>();
  /** Each resolves when its viewport is over; with the stream that it shows. */
  readonly #showing = new Map<Promise<void>, number>();
  readonly #refused = new RefusedCursors();
  readonly #lost: LostViewports;
  #writtenThrough = 0;
  #writtenTimer: NodeJS.Timeout | undefined;

  constructor(host: ViewportHost, context: RuntimeContext) {
    this.#host = host;
    this.#context = context;
    this.#lost = new LostViewports(context.clock);
  }

  /** Another stands for the session from now on: this node runs it, or has ceased to. */
  serve(host: ViewportHost): void {
    this.#host = host;
    for (const [stream, { shownThrough }] of this.#byStream) {
      host.onShown(stream, shownThrough, false);
    }
  }

  get size(): number {
    return this.#byStream.size;
  }

  isShown(stream: number): boolean {
    return this.#byStream.has(stream);
  }

  read(cursor: EventPlace): Promise<ReadOutcome> {
    const limit = { events: bounds.readEventsMax, bytes: bounds.readBytesMax };
    return this.#context.log.read(this.#host.id, cursor, limit);
  }

  stream(stream: number): Promise<StreamState | undefined> {
    return this.#context.log.stream(this.#host.id, stream);
  }

  /** [C R-07] The place on the standalone stream through which a viewport has shown it. */
  async unseen(): Promise<EventPlace | undefined> {
    const state = await this.stream(standaloneStream);
    if (state === undefined) return undefined;
    // What an earlier process had handed to a socket counts too.
    this.#writtenThrough = Math.max(this.#writtenThrough, state.writtenThrough);
    const position = Math.min(this.#writtenThrough, state.head);
    // So old that its incarnation is forgotten: the log judges it a gap, of unknown extent.
    const incarnation = incarnationAt(state.runs, position) ?? "";
    return { tag: this.#host.tag, stream: standaloneStream, position, incarnation };
  }

  /** [C R-09] Whether this cursor was refused a short while ago; it is remembered either way. */
  async isRefusedAgain(place: EventPlace): Promise<boolean> {
    const cursor = encodeEventId(place);
    const { log, clock } = this.#context;
    const isAgain = this.#refused.isRepeated(cursor, clock.monotonicMs());
    const stream = log.shared === undefined ? undefined : await this.stream(place.stream);
    if (isAgain || stream === undefined) return isAgain;
    const wallMs = clock.wallMs();
    // The client may ask another node next.
    const viewer = withRefusal(stream.viewer, cursor, wallMs);
    const ops: Op[] = [{ op: "attach", stream: place.stream, viewer }];
    await log.commit(this.#host.id, { fence: 0, ops });
    return isRefused(stream.viewer, cursor, wallMs);
  }

  /** Show a stream on a sink, from a place on; whoever showed it before is let go [C R-02]. */
  show(sink: Sink, start: ViewportStart): void {
    const { stream } = start.cursor;
    const { options, held, log, telemetry } = this.#context;
    const { id } = this.#host;
    const source: ViewportSource = {
      stream,
      read: (cursor) => this.#readFor(cursor, viewport, start.viewer),
      follow: (wake) => log.follow(id, stream, wake),
      ended: () => this.#host.ended(),
      ending: () => this.#host.ending(),
      onWritten: (position) => {
        if (stream === standaloneStream) this.#onWritten(position);
      },
      onReplayed: (events) => telemetry.replayed(events),
    };
    const viewport: Viewport = new Viewport(source, sink, options, held, start.cursor);
    this.#attach(viewport, start);
    // Over is over when its last bytes have left, too.
    const closed = new Promise<void>((resolve) => sink.onClose(resolve));
    const over = viewport
      .run(start)
      .catch((error: unknown) => {
        const { logger } = this.#context;
        logger.error({ session: this.#host.tag, stream, error }, "a viewport failed");
        sink.destroy();
        return "disconnected" as const;
      })
      .then((end) => this.#detach(viewport, stream, end))
      .then(() => closed)
      .then(() => void this.#showing.delete(over));
    this.#showing.set(over, stream);
  }

  #attach(viewport: Viewport, { cursor, isResume = false }: ViewportStart): void {
    const { stream, position } = cursor;
    const { telemetry, viewports } = this.#context;
    const former = this.#byStream.get(stream);
    if (former !== undefined) telemetry.takenOver();
    former?.takeOver();
    this.#byStream.set(stream, viewport);
    viewports.add(1);
    const lostMs = this.#lost.found(stream);
    if (lostMs !== undefined) telemetry.reconnected(lostMs);
    telemetry.viewportAttached(this.#host.tag, stream, position, isResume);
    this.#host.onShown(stream, position, isResume);
  }

  #detach(viewport: Viewport, stream: number, end: ViewportEnd): void {
    const { telemetry, viewports, logger } = this.#context;
    logger.debug({ session: this.#host.tag, stream, end }, "viewport closed");
    viewports.add(-1);
    if (this.#byStream.get(stream) === viewport) {
      this.#byStream.delete(stream);
      this.#lost.note(stream, end);
    }
    telemetry.viewportDetached(this.#host.tag, stream, end, viewport.shownThrough);
    this.#host.onClosed(stream, end);
  }

  /** Resolves when the viewports that are there now, of calls or all, are over. */
  async over(which: "calls" | "all"): Promise<void> {
    const showing = [...this.#showing].filter(
      ([, stream]) => which === "all" || stream !== standaloneStream,
    );
    await Promise.all(showing.map(([over]) => over));
  }

  /** Look again: the session was ended. */
  refresh(): void {
    clearTimeout(this.#writtenTimer);
    for (const viewport of this.#byStream.values()) viewport.refresh();
  }

  /** Tell the reader of a stream, if there is one, what cannot be told by the log; and let it go. */
  giveUp(stream: number, frame: string): void {
    this.#byStream.get(stream)?.giveUp(frame);
  }

  /** [C E-11] Let the reader of a stream go, on whatever node; the stream stays. */
  letGo(stream: number, retryMs: number): void {
    const { log, logger } = this.#context;
    const viewport = this.#byStream.get(stream);
    viewport?.release(retryMs);
    if (viewport !== undefined || log.shared === undefined) return;
    const ops: Op[] = [{ op: "attach", stream, viewer: nobodysViewer() }];
    log.commit(this.#host.id, { fence: 0, ops }).catch((error: unknown) => {
      logger.warn({ session: this.#host.tag, stream, error }, "a reader was not let go");
    });
  }

  /** Let readers go; the streams stay. */
  release(which: "standalone" | "all", retryMs: () => number): void {
    for (const [stream, viewport] of this.#byStream) {
      if (which === "all" || stream === standaloneStream) viewport.release(retryMs());
    }
  }

  /** Store what is stored lazily, now. */
  async flush(): Promise<void> {
    if (this.#writtenTimer === undefined) return;
    clearTimeout(this.#writtenTimer);
    this.#writtenTimer = undefined;
    // Missing it costs a repetition after a crash, no event [C R-07].
    await this.#host.storeWritten(this.#writtenThrough).catch(() => undefined);
  }

  /**
   * A viewport reads on: while the store is away it waits, since its reader would find nothing better
   * elsewhere. Shown on another node by now, it lets go [C R-02].
   */
  async #readFor(
    cursor: EventPlace,
    viewport: Viewport,
    viewer: string | undefined,
  ): Promise<ReadOutcome> {
    for (let pauseMs: number = bounds.readRetryMs; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
      try {
        const outcome = await this.read(cursor);
        const isOfStream = outcome.kind === "events" || outcome.kind === "finished";
        if (isOfStream && viewerOf(outcome.viewer) !== viewerOf(viewer)) {
          if (isNobodys(outcome.viewer)) viewport.release(this.#context.options.retryMs);
          else viewport.takeOver();
        }
        return outcome;
      } catch (error) {
        const isAway = error instanceof LogError && error.code === "ERR_LOG_UNAVAILABLE";
        if (!isAway) throw error;
        if (viewport.isOver) return { kind: "events", events: [] };
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }

  #onWritten(position: number): void {
    if (position <= this.#writtenThrough) return;
    this.#writtenThrough = position;
    // Another node may show what comes next.
    const { log } = this.#context;
    const delayMs = log.shared === undefined ? bounds.writtenDelayMs : bounds.writtenDelaySharedMs;
    this.#writtenTimer ??= setTimeout(() => void this.flush(), delayMs);
  }
}
