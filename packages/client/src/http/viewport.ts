/**
 * Shows one viewport of a stream: reads an open response to its end, hands on what it says, and
 * tells what closed it. Knows no session and no call.
 */
import type { ClosedBy } from "@holdfast/contract";
import type { Internals } from "../options.ts";
import { EventTooLarge, eventReader } from "./event-reader.ts";
import { isTimeout } from "./network-fault.ts";

export interface ViewportSink {
  /** The data of a message event, and its id if it has one. */
  message(data: string, id: string | undefined): void;
  moved(cursor: string | null): void;
  retry(ms: number): void;
  /** [C E-06] `: at <id>`. @returns true: events were swallowed on the way [C K-13] */
  isLoss(id: string): boolean;
  /** A promise while there is no room: nothing is read before it resolves. */
  room(): Promise<void> | undefined;
}

export type ViewportEnd = ClosedBy<string> | { readonly kind: "tooLarge" };

export interface ViewportOptions {
  readonly internals: Internals;
  readonly signal: AbortSignal;
  /** [C K-12] so long without a byte, and the viewport is given up; null: no limit. */
  readonly silenceMsMax: number | null;
}

/** Read to the end; never rejects. */
export async function showViewport(
  body: ReadableStream<Uint8Array> | null,
  sink: ViewportSink,
  { internals, signal, silenceMsMax }: ViewportOptions,
): Promise<ViewportEnd> {
  if (body === null) return { kind: "eof", isAnnounced: false };
  const source = body.getReader();
  let end: ViewportEnd | undefined;
  const finish = (by: ViewportEnd) => {
    end ??= by;
    reader.stop();
    source.cancel().catch(() => {});
  };
  const reader = eventReader(
    {
      event: (name, data, id) => {
        if (name === "close") finish({ kind: "closeEvent", reason: reasonOf(data) });
        else if (name === "message") sink.message(data, id);
      },
      moved: (id) => sink.moved(id),
      retry: (ms) => sink.retry(ms),
      comment: (text) => {
        const id = heartbeatOf(text);
        if (id !== undefined && sink.isLoss(id)) finish({ kind: "reset" });
      },
    },
    internals.eventCharsMax,
  );
  const watch = watchSilence(internals, silenceMsMax, () => finish({ kind: "timeout" }));
  const onAbort = () => finish({ kind: "reset" });
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    while (end === undefined) {
      await sink.room();
      const { done, value } = await source.read();
      if (done) break;
      watch.onByte();
      reader.read(value);
    }
    return end ?? { kind: "eof", isAnnounced: reader.isAnnounced() };
  } catch (error) {
    if (error instanceof EventTooLarge) finish({ kind: "tooLarge" });
    return end ?? { kind: isTimeout(error) ? "timeout" : "reset" };
  } finally {
    watch.stop();
    signal.removeEventListener("abort", onAbort);
  }
}

/** One timer for the whole viewport: it looks again when the silence would have lasted. */
function watchSilence(
  { clock, setTimer }: Internals,
  silenceMsMax: number | null,
  onSilence: () => void,
): { onByte(): void; stop(): void } {
  if (silenceMsMax === null) return { onByte: () => {}, stop: () => {} };
  let lastMs = clock.monotonicMs();
  let cancel = () => {};
  const look = () => {
    const leftMs = lastMs + silenceMsMax - clock.monotonicMs();
    if (leftMs <= 0) onSilence();
    else cancel = setTimer(look, leftMs);
  };
  cancel = setTimer(look, silenceMsMax);
  return {
    onByte: () => {
      lastMs = clock.monotonicMs();
    },
    stop: () => cancel(),
  };
}

/** The id in `at <id>`. */
function heartbeatOf(comment: string): string | undefined {
  return /^at (\S+)$/.exec(comment.trim())?.[1];
}

function reasonOf(data: string): string | null {
  try {
    const { reason } = Object(JSON.parse(data)) as { reason?: unknown };
    return typeof reason === "string" ? reason : null;
  } catch {
    return null;
  }
}
