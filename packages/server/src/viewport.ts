/**
 * A viewport: one HTTP response that shows part of one stream.
 *
 * It has one mechanism. It reads the log after its own cursor, writes what it got, and reads again;
 * when there is nothing it waits to be woken. Live is catch-up at the head: replay and live cannot
 * race, and a slow reader costs nothing, since its events wait in the log.
 *
 *     reading ──events──▶ writing ──drained──▶ reading
 *        │ none                 └─blocked─▶ waits; lets go of its text, reads it again later
 *        ▼
 *     waiting ──woken──▶ reading          every state ──stop, close──▶ over
 */
import {
  closeFrame,
  type EventPlace,
  encodeEventId,
  heartbeatFrame,
  retryFrame,
  standaloneStream,
} from "@holdfast/contract";
import type { EndReason, LoggedEvent, ReadOutcome } from "@holdfast/log";
import type { HeldText } from "./held-text.ts";
import type { Sink } from "./http/exchange.ts";
import { bounds } from "./options.ts";
import { frameOf, sliceEnd } from "./viewport-frames.ts";

/** How a viewport ended; only `finished` and `ended` say anything about stream or session. */
export type ViewportEnd =
  | "finished"
  | "ended"
  | "taken-over"
  | "released"
  | "evicted"
  | "unstored"
  | "stalled"
  | "disconnected";

/** The stream that a viewport shows. */
export interface ViewportSource {
  readonly stream: number;
  read(cursor: EventPlace): Promise<ReadOutcome>;
  follow(wake: () => void): () => void;
  /** Set once the session is over, and every event of its end is in the log. */
  ended(): EndReason | undefined;
  /** While the session is being ended: resolves when that is settled. */
  ending(): Promise<unknown> | undefined;
  /** Events up to here were handed to the socket. */
  onWritten(position: number): void;
  /** So many events that were there before the viewport were read for it. */
  onReplayed(events: number): void;
}

export interface ViewportSettings {
  readonly heartbeatMs: number;
  readonly retryMs: number;
  readonly viewportMaxMs: number;
}

export interface ViewportStart {
  readonly cursor: EventPlace;
  /** What the response begins with: a priming event or a comment, a gap. */
  readonly preface: string;
  /** What a reader of a gap is told when the stream is finished without its response. */
  readonly epilogue?: string;
  /** Events after the cursor that were read already. */
  readonly events?: readonly LoggedEvent[];
  /** Its reader was there before: what is there already it has missed. */
  readonly isResume?: boolean;
  /** Under which it is attached in a shared log; undefined for the first of a stream of calls. */
  readonly viewer?: string | undefined;
}

interface Stop {
  readonly cause: ViewportEnd;
  readonly frame: string;
  /** Do not wait for the end of a frame that is half written. */
  readonly isUrgent: boolean;
}

/** `undefined`: written; else why not. */
type Shown = ViewportEnd | undefined;

export class Viewport {
  readonly #source: ViewportSource;
  readonly #sink: Sink;
  readonly #settings: ViewportSettings;
  readonly #held: HeldText;
  #cursor: EventPlace;
  /** Its position at the beginning. */
  readonly #start: number;
  #mayReturn = false;
  /** A change came that the last read may not have seen. */
  #isWoken = false;
  #wakeUp: (() => void) | undefined;
  #stop: Stop | undefined;
  #isClosed = false;
  /** The session was over at the last read, as the log says it. */
  #endedInRead: EndReason | undefined;
  /**
   * What was read and is not written yet. Here alone, and taken out as it is written: a function
   * that waits for a socket keeps everything that it was given [C E-09].
   */
  #unshown: LoggedEvent[] = [];
  /** The frame that is being written in slices; let go while the socket is blocked. */
  #large: string | undefined;
  /** Ticks in a row at which the socket had not drained since the one before. */
  #stalledTicks = 0;
  #isStalled = false;
  /** What is read was there before the viewport. */
  #isReplaying = false;
  /** Set while a frame is half written: no comment may stand in it. */
  #isMidFrame = false;

  constructor(
    source: ViewportSource,
    sink: Sink,
    settings: ViewportSettings,
    held: HeldText,
    cursor: EventPlace,
  ) {
    this.#source = source;
    this.#sink = sink;
    this.#settings = settings;
    this.#held = held;
    this.#cursor = cursor;
    this.#start = cursor.position;
  }

  /** Show the stream until the viewport is over; never rejects for what a peer does. */
  run(start: ViewportStart): Promise<ViewportEnd> {
    const { preface, events = [], epilogue = "", isResume = false } = start;
    this.#unshown = [...events];
    this.#mayReturn =
      isResume || preface.includes("id: ") || this.#source.stream === standaloneStream;
    this.#isReplaying = isResume;
    if (isResume) this.#source.onReplayed(events.length);
    return this.#run(preface, epilogue);
  }

  /** Events up to here were handed to the socket. */
  get shownThrough(): number {
    return this.#cursor.position;
  }

  /** Its reader is gone, or is about to be let go. */
  get isOver(): boolean {
    return this.#isClosed || this.#stop !== undefined;
  }

  /** Another viewport shows the stream from now on [C R-02]. */
  takeOver(): void {
    this.#halt({ cause: "taken-over", frame: retryFrame(bounds.takeoverRetryMs), isUrgent: true });
  }

  /** Let the reader go; it comes back after `retryMs` [C E-11] [C D-02]. */
  release(retryMs: number): void {
    this.#halt({ cause: "released", frame: retryFrame(retryMs), isUrgent: false });
  }

  /** What the stream waits for cannot be stored: say so, and end [C X-05]. */
  giveUp(frame: string): void {
    this.#halt({ cause: "unstored", frame, isUrgent: false });
  }

  /** Look again: the session was ended. */
  refresh(): void {
    this.#wake();
  }

  async #run(preface: string, epilogue: string): Promise<ViewportEnd> {
    const unfollow = this.#source.follow(() => this.#wake());
    this.#sink.onClose(() => {
      this.#isClosed = true;
      this.#wake();
    });
    const timers = this.#startTimers();
    try {
      this.#sink.write(preface);
      return await this.#loop(epilogue, timers.beat);
    } finally {
      unfollow();
      timers.clear();
    }
  }

  async #loop(epilogue: string, beat: NodeJS.Timeout): Promise<ViewportEnd> {
    for (;;) {
      if (this.#isClosed) return this.#causeOfClose();
      if (this.#stop !== undefined) return this.#leave(this.#stop);
      this.#isWoken = false;
      // Asked before the read: what the read then misses, it misses at the end for good.
      const ended = this.#source.ended();
      const kind = this.#unshown.length > 0 ? "events" : await this.#read();
      if (kind === "events") {
        const cause = await this.#show();
        beat.refresh();
        if (cause !== undefined) return this.#abandon(cause);
      } else if (kind === "none") {
        const over = ended ?? this.#endedInRead;
        if (over !== undefined) return this.#close(over);
        await this.#sleep();
      } else if (kind === "finished") {
        // When the end could not be committed, the session goes on, and the stream is over.
        await this.#source.ending()?.catch(() => undefined);
        if (epilogue !== "") this.#sink.write(epilogue);
        const reason = this.#source.ended() ?? this.#endedInRead;
        if (reason !== undefined) return this.#close(reason);
        this.#sink.end(bounds.stallMs);
        return "finished";
      } else {
        // [C E-09] evicted under a reader that is too slow: its resume is told the extent.
        this.#sink.end(bounds.stallMs);
        return "evicted";
      }
    }
  }

  /** Read what comes next into `#unshown`. */
  async #read(): Promise<ReadOutcome["kind"] | "none"> {
    const outcome = await this.#source.read(this.#cursor);
    const isOfStream = outcome.kind === "events" || outcome.kind === "finished";
    this.#endedInRead = isOfStream ? outcome.ended : undefined;
    if (outcome.kind !== "events") return outcome.kind;
    this.#unshown = [...outcome.events];
    // At the head what comes is live.
    this.#isReplaying &&= outcome.events.length > 0;
    if (this.#isReplaying) this.#source.onReplayed(outcome.events.length);
    return this.#unshown.length > 0 ? "events" : "none";
  }

  /** Write what was read in pieces that the socket can swallow; the cursor moves with each. */
  async #show(): Promise<Shown> {
    while (this.#stop === undefined) {
      const { frames, through } = this.#takeFrames();
      if (through === undefined) return undefined;
      const cause =
        frames === "" ? await this.#showLarge(through) : await this.#write(frames, through);
      if (cause !== undefined) return cause;
    }
    return undefined;
  }

  /**
   * Take the next frames out of `#unshown`, about a slice of them. A large one is taken alone, into
   * `#large`.
   */
  #takeFrames(): { readonly frames: string; readonly through: EventPlace | undefined } {
    let frames = "";
    let through: EventPlace | undefined;
    for (let next = this.#unshown[0]; next !== undefined; next = this.#unshown[0]) {
      const isLarge = next.text.length > bounds.sliceCharsMax;
      if (frames.length >= bounds.sliceCharsMax || (isLarge && through !== undefined)) break;
      this.#unshown.shift();
      through = next.place;
      if (isLarge) {
        this.#large = frameOf(next);
        break;
      }
      frames += frameOf(next);
    }
    return { frames, through };
  }

  /** Hand whole frames to the socket; `through` is the newest event in them. */
  async #write(frames: string, through: EventPlace): Promise<Shown> {
    if (this.#isClosed) return this.#causeOfClose();
    const isOpen = this.#sink.write(frames);
    this.#advance(through);
    if (isOpen) return undefined;
    await this.#drained();
    return this.#isClosed ? this.#causeOfClose() : undefined;
  }

  /**
   * Hand the large frame of one event to the socket, slice by slice. While the socket is blocked for
   * long, the text is let go and read again from the log: what waits, waits there [C E-09].
   */
  async #showLarge(place: EventPlace): Promise<Shown> {
    const length = this.#large?.length ?? 0;
    this.#isMidFrame = true;
    let sliceCharsMax: number = bounds.sliceCharsMax;
    for (let at = 0; at < length; ) {
      if (this.#isClosed) return this.#causeOfClose();
      if (this.#stop?.isUrgent === true) return this.#stop.cause;
      if (this.#large === undefined && !(await this.#readAgain(place))) return "evicted";
      const { bytes, end } = this.#sliceFrom(at, sliceCharsMax);
      at = end;
      if (this.#sink.write(bytes)) continue;
      const isQuick = !this.#held.isOver() && (await this.#drainsSoon(length));
      if (isQuick) continue;
      this.#large = undefined;
      // Reading it again has a price: more is taken each time.
      sliceCharsMax = bounds.rereadSliceCharsMax;
      await this.#drained();
    }
    this.#large = undefined;
    this.#isMidFrame = false;
    this.#advance(place);
    return undefined;
  }

  /** @returns false when it is gone from the log */
  async #readAgain(place: EventPlace): Promise<boolean> {
    const outcome = await this.#source.read(this.#cursor);
    if (outcome.kind !== "events") return false;
    const event = outcome.events.find((other) => other.place.position === place.position);
    this.#large = event && frameOf(event);
    return event !== undefined;
  }

  /** As bytes: a slice of a string would keep the whole of it while the socket has not taken it. */
  #sliceFrom(at: number, charsMax: number): { readonly bytes: Uint8Array; readonly end: number } {
    const frame = this.#large ?? "";
    const end = sliceEnd(frame, at, charsMax);
    return { bytes: Buffer.from(frame.slice(at, end)), end };
  }

  /** Wait a moment for the socket while the text is held. */
  async #drainsSoon(chars: number): Promise<boolean> {
    this.#held.add(chars);
    let timer: NodeJS.Timeout | undefined;
    const isLate = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), bounds.holdMs);
    });
    try {
      return await Promise.race([this.#drained().then(() => true), isLate]);
    } finally {
      clearTimeout(timer);
      this.#held.add(-chars);
    }
  }

  /** Resolves when the socket takes more, is gone, or an urgent stop came. */
  async #drained(): Promise<void> {
    const drained = this.#sink.drained();
    let isOver = false;
    void drained.then(() => {
      isOver = true;
      // Slow, but it reads: a large event may take it many heartbeats.
      this.#stalledTicks = 0;
      this.#wakeUp?.();
    });
    while (!isOver && !this.#isClosed && this.#stop?.isUrgent !== true) await this.#pause();
  }

  #advance(place: EventPlace): void {
    this.#cursor = place;
    this.#source.onWritten(place.position);
  }

  #wake(): void {
    this.#isWoken = true;
    this.#wakeUp?.();
  }

  async #sleep(): Promise<void> {
    if (!this.#isWoken) await this.#pause();
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeUp = () => {
        this.#wakeUp = undefined;
        resolve();
      };
    });
  }

  #halt(stop: Stop): void {
    const isOverruled = this.#stop !== undefined && (this.#stop.isUrgent || !stop.isUrgent);
    if (!isOverruled) this.#stop = stop;
    this.#wake();
  }

  #startTimers(): { readonly beat: NodeJS.Timeout; clear(): void } {
    const { heartbeatMs, viewportMaxMs, retryMs } = this.#settings;
    const tickMs = heartbeatMs > 0 ? heartbeatMs : bounds.stallMs / bounds.stallHeartbeats;
    const beat = setTimeout(() => this.#tick(beat), tickMs);
    const letGo = () => (this.#isNamed() ? this.release(retryMs) : max?.refresh());
    const max = viewportMaxMs > 0 ? setTimeout(letGo, viewportMaxMs) : undefined;
    return {
      beat,
      clear: () => {
        clearTimeout(beat);
        clearTimeout(max);
      },
    };
  }

  /** [C E-11] Its reader can come back: who never saw an id could not, and would lose the answer. */
  #isNamed(): boolean {
    return this.#mayReturn || this.#cursor.position > this.#start;
  }

  /** [C E-06] [C E-09] once a heartbeat without an event: say where the reader should be. */
  #tick(beat: NodeJS.Timeout): void {
    if (this.#isClosed) return;
    beat.refresh();
    if (!this.#sink.isDrained()) {
      // The first one may come right after the socket was blocked: it does not count.
      this.#stalledTicks++;
      if (this.#stalledTicks <= bounds.stallHeartbeats) return;
      this.#isStalled = true;
      this.#sink.destroy();
      return;
    }
    this.#stalledTicks = 0;
    if (this.#settings.heartbeatMs > 0 && !this.#isMidFrame) {
      this.#sink.write(heartbeatFrame(encodeEventId(this.#cursor)));
    }
  }

  #causeOfClose(): ViewportEnd {
    return this.#isStalled ? "stalled" : "disconnected";
  }

  #leave(stop: Stop): ViewportEnd {
    this.#sink.write(stop.frame);
    // [C R-02] a half-open peer is not waited for; [C E-09] a slow one is.
    this.#sink.end(stop.isUrgent ? bounds.lingerMs : bounds.stallMs);
    return stop.cause;
  }

  /** Over in the middle of a frame: nothing more can be said on this connection. */
  #abandon(cause: ViewportEnd): ViewportEnd {
    this.#sink.destroy();
    return cause;
  }

  /** [C D-01] */
  #close(reason: EndReason): ViewportEnd {
    this.#sink.write(closeFrame(reason));
    this.#sink.end(bounds.stallMs);
    return "ended";
  }
}
