/** How a viewport cuts what it shows: events as frames, large frames in slices. Pure. */
import { encodeEventId, frameEvent } from "@holdfast/contract";
import type { LoggedEvent } from "@holdfast/log";

export function frameOf(event: LoggedEvent): string {
  return frameEvent({ id: encodeEventId(event.place), data: event.text });
}

/** The end of the slice that begins at `at`; never between the halves of a surrogate pair. */
export function sliceEnd(text: string, at: number, charsMax: number): number {
  const end = Math.min(at + charsMax, text.length);
  const last = text.charCodeAt(end - 1);
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff;
  return isHighSurrogate && end < text.length ? end + 1 : end;
}
