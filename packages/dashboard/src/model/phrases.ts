/** What happened, in words: one line for each item of the feed. Pure. */
import type { FeedItem, SessionItem } from "./feed.ts";

/** Without time and tag. */
export function phraseOf(item: FeedItem): string {
  return "tag" in item ? sessionPhrase(item) : `gateway ${processWords[item.kind]}`;
}

/** How a call ended. */
export function outcomePhrase(outcome: string): string {
  return outcome === "answered" || outcome === "cancelled"
    ? outcome
    : `outcome unknown: ${outcome}`;
}

export function lostPhrase(lost: number | null): string {
  if (lost === null) return "an unknown number of events";
  return lost === 1 ? "1 event" : `${lost} events`;
}

/** What clients and servers call things may hold anything: nothing of it may steer a terminal. */
export function oneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, "�").slice(0, 60);
}

const processWords = {
  started: "started",
  stopped: "stopped",
  skipped: "did not keep all that happened",
} as const;

function sessionPhrase(item: SessionItem): string {
  switch (item.kind) {
    case "begun":
      return `begun${item.client === undefined ? "" : ` by ${oneLine(item.client)}`}`;
    case "ended":
      return `ended: ${item.reason}`;
    case "adopted":
      return "adopted by this node";
    case "opened": {
      const calls = item.calls.map(({ method, name = "" }) => oneLine(`${method} ${name}`.trim()));
      return `stream ${item.stream}: ${calls.join(", ")}`;
    }
    case "appended": {
      const { position, through, event, bytes } = item;
      const which = position === through ? `${position}` : `${position}–${through}`;
      return `stream ${item.stream}: ${event} ${which}, ${bytes} bytes`;
    }
    case "settled":
      return `stream ${item.stream}: ${outcomePhrase(item.outcome)}`;
    case "attached":
      return `stream ${item.stream}: ${item.isResume ? "resumed" : "shown"} after ${item.after}`;
    case "detached":
      return `stream ${item.stream}: viewport ${item.cause}, shown up to ${item.shown}`;
    case "gap":
      return `stream ${item.stream}: GAP, ${lostPhrase(item.lostEvents)} lost after ${item.from}`;
  }
}
