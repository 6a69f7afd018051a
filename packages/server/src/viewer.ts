/**
 * The text that a shared log keeps of the newest viewport of a stream: under which name it is
 * attached, and which cursor of the stream was refused last, for whichever node is asked next.
 */
import { randomBytes } from "node:crypto";
import type { EventId } from "@holdfast/contract";
import { bounds } from "./options.ts";

/** The name under which the stream is shown; undefined for the first viewport of a stream of calls. */
export function viewerOf(text: string | undefined): string | undefined {
  const name = text?.split(" ")[0];
  return name === "" ? undefined : name;
}

/** Another viewport; a refusal stays. @param text - as it was, where that is known */
export function newViewer(text?: string): string {
  const [, ...refusal] = text?.split(" ") ?? [];
  return [randomBytes(6).toString("hex"), ...refusal].join(" ");
}

/** No viewport: whoever shows the stream is to let its reader go [C E-11]. */
export function nobodysViewer(): string {
  return `${released}${randomBytes(6).toString("hex")}`;
}

export function isNobodys(text: string | undefined): boolean {
  return text?.startsWith(released) === true;
}

const released = "~";

/** The same viewport, and a cursor that was refused now. */
export function withRefusal(text: string | undefined, cursor: EventId, wallMs: number): string {
  return `${viewerOf(text) ?? ""} ${cursor} ${wallMs}`;
}

/** [C R-09] Whether a cursor was refused within the last minute, by whatever node. */
export function isRefused(text: string | undefined, cursor: EventId, wallMs: number): boolean {
  const [, refused, atMs] = text?.split(" ") ?? [];
  // Clocks of nodes differ, either way.
  return refused === cursor && Math.abs(wallMs - Number(atMs)) <= bounds.repeatMs;
}
