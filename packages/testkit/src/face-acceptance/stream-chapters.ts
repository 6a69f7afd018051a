/** The chapters about streams and readers, in the order in which they are best read. */
import { heartbeatsChapter } from "./heartbeats.ts";
import { openingsChapter } from "./openings.ts";
import { streamsChapter } from "./streams.ts";

export const streamChapters = {
  openings: openingsChapter,
  streams: streamsChapter,
  heartbeats: heartbeatsChapter,
};
