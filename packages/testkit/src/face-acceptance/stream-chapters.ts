/** The chapters about streams and readers, in the order in which they are best read. */
import { boundsChapter } from "./bounds.ts";
import { gapsChapter } from "./gaps.ts";
import { heartbeatsChapter } from "./heartbeats.ts";
import { openingsChapter } from "./openings.ts";
import { racesChapter } from "./races.ts";
import { resumeChapter } from "./resume.ts";
import { retentionChapter } from "./retention.ts";
import { streamsChapter } from "./streams.ts";
import { takeoverChapter } from "./takeover.ts";

export const streamChapters = {
  openings: openingsChapter,
  streams: streamsChapter,
  heartbeats: heartbeatsChapter,
  resume: resumeChapter,
  takeover: takeoverChapter,
  races: racesChapter,
  gaps: gapsChapter,
  retention: retentionChapter,
  bounds: boundsChapter,
};
