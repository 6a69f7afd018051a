/**
 * The viewports of one session: at most one for each stream, the newest [C R-02].
 */
import { standaloneStream } from "@holdfast/contract";
import type { EndReason } from "@holdfast/log";
import type { Sink } from "./http/exchange.ts";
import { bounds } from "./options.ts";
import type { RuntimeContext } from "./runtime-context.ts";
import { Viewport, type ViewportSource, type ViewportStart } from "./viewport.ts";

/** What the session gives its viewports. */
export interface ViewportHost extends Pick<ViewportSource, "read" | "ending"> {
  ended(): EndReason | undefined;
  follow(stream: number, wake: () => void): () => void;
  /** The standalone stream was shown up to here; stored lazily. */
  storeWritten(position: number): Promise<unknown>;
  /** A viewport closed. */
  onClosed(): void;
}

export class Viewports {
  readonly #host: ViewportHost;
  readonly #context: RuntimeContext;
  readonly #tag: string;
  readonly #byStream = new Map<number, Viewport>();
  #writtenThrough = 0;
  #writtenTimer: NodeJS.Timeout | undefined;

  constructor(host: ViewportHost, context: RuntimeContext, tag: string) {
    this.#host = host;
    this.#context = context;
    this.#tag = tag;
  }

  get size(): number {
    return this.#byStream.size;
  }

  has(stream: number): boolean {
    return this.#byStream.has(stream);
  }

  /** Newest position of the standalone stream that was handed to a socket [C R-07]. */
  get writtenThrough(): number {
    return this.#writtenThrough;
  }

  /** What an earlier process had handed to a socket counts too. */
  restoreWritten(position: number): void {
    this.#writtenThrough = Math.max(this.#writtenThrough, position);
  }

  /** Show a stream on a sink, from a place on; whoever showed it before is let go [C R-02]. */
  show(sink: Sink, start: ViewportStart): void {
    const { stream } = start.cursor;
    const { options, held, logger } = this.#context;
    const source: ViewportSource = {
      stream,
      read: (cursor) => this.#host.read(cursor),
      follow: (wake) => this.#host.follow(stream, wake),
      ended: () => this.#host.ended(),
      ending: () => this.#host.ending(),
      onWritten: (position) => {
        if (stream === standaloneStream) this.#onWritten(position);
      },
    };
    const viewport = new Viewport(source, sink, options, held, start.cursor);
    this.#byStream.get(stream)?.takeOver();
    this.#byStream.set(stream, viewport);
    this.#context.viewports.add(1);
    viewport
      .run(start)
      .then((end) => logger.debug({ session: this.#tag, stream, end }, "viewport closed"))
      .catch((error: unknown) => {
        logger.error({ session: this.#tag, stream, error }, "a viewport failed");
        sink.destroy();
      })
      .finally(() => {
        this.#context.viewports.add(-1);
        if (this.#byStream.get(stream) === viewport) this.#byStream.delete(stream);
        this.#host.onClosed();
      });
  }

  /** Look again: the session was ended. */
  refresh(): void {
    clearTimeout(this.#writtenTimer);
    for (const viewport of this.#byStream.values()) viewport.refresh();
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

  #onWritten(position: number): void {
    if (position <= this.#writtenThrough) return;
    this.#writtenThrough = position;
    this.#writtenTimer ??= setTimeout(() => void this.flush(), bounds.writtenDelayMs);
  }
}
