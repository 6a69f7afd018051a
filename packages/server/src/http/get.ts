/**
 * GET: a viewport onto one stream, from a cursor on, or onto the standalone stream.
 */
import {
  type EventPlace,
  encodeEventId,
  frameComment,
  frameEvent,
  gapNotification,
  outcomeUnknownMessage,
  parseEventId,
  primingFrame,
  resumeWindowExceeded,
  standaloneStream,
} from "@holdfast/contract";
import type { Gap, LoggedEvent, StreamState } from "@holdfast/log";
import type { SessionFace } from "../session-face.ts";
import type { Endpoint, Exchange, Handled } from "./endpoint.ts";
import { holdingPlaces, tooManyViewports } from "./limits.ts";
import { accepts } from "./negotiation.ts";
import { type Rejection, reject } from "./rejection.ts";
import { absent, findSession } from "./session-lookup.ts";
import { eventStreamHeaders } from "./stream-headers.ts";

export async function handleGet(exchange: Exchange): Handled {
  const { endpoint, request } = exchange;
  if (!accepts(request.header("accept"), "text/event-stream")) {
    return reject("not-acceptable", "A GET needs Accept: text/event-stream.");
  }
  const header = request.header("last-event-id");
  const { telemetry } = endpoint.context;
  const found = await findSession(exchange, []);
  if (found.kind === "rejected") {
    if (header !== undefined) telemetry.resumed("refused");
    return found.rejection;
  }
  if (endpoint.context.viewports.isFull) return tooManyViewports();
  const resume: Resume = { ...exchange, session: found.session };
  if (header === undefined) return openStandalone(resume);
  const cursor = parseEventId(header);
  if (cursor === undefined) {
    telemetry.resumed("refused");
    return reject("invalid-event-id", "The Last-Event-ID is no event id of this server.");
  }
  return resumeFrom(resume, cursor);
}

interface Resume extends Exchange {
  readonly session: SessionFace;
}

/** [C R-07] From the first event that no viewport has shown. */
async function openStandalone(resume: Resume): Handled {
  const cursor = await resume.session.viewports.unseen();
  if (cursor === undefined) return absent("unknown");
  const outcome = await holdingPlaces(resume, undefined, 1, () =>
    resume.session.viewports.read(cursor),
  );
  if (outcome.kind === "events") return begin(resume, cursor, outcome.events);
  if (outcome.kind === "gap") return showGap(resume, outcome.gap);
  return absent("unknown");
}

async function resumeFrom(resume: Resume, cursor: EventPlace): Handled {
  const { session, reply, headers } = resume;
  const { telemetry } = resume.endpoint.context;
  const outcome = await holdingPlaces(resume, undefined, 1, () => session.viewports.read(cursor));
  switch (outcome.kind) {
    case "events":
      telemetry.resumed("clean");
      return begin(resume, cursor, outcome.events);
    case "finished":
      telemetry.resumed("complete");
      // [C R-06] the status that tells an EventSource to stop.
      reply.send(204, headers);
      return undefined;
    case "foreign":
      telemetry.resumed("refused");
      return reject("foreign-event-id", "The Last-Event-ID belongs to another session or log.");
    case "absent":
      telemetry.resumed("refused");
      return absent("unknown");
    case "gap":
      return (await isServedInBand(resume, outcome.gap))
        ? showGap(resume, outcome.gap)
        : refuseGap(resume, outcome.gap);
  }
}

async function begin(resume: Resume, cursor: EventPlace, events: readonly LoggedEvent[]): Handled {
  const { session, reply, headers } = resume;
  const viewer = await session.attach(cursor.stream);
  const sink = reply.stream({ ...headers, ...eventStreamHeaders });
  // On the standalone stream, a reader without a cursor comes after one that has seen something.
  const isResume = cursor.stream !== standaloneStream || cursor.position > 0;
  session.viewports.show(sink, {
    cursor,
    preface: opening(resume, cursor),
    events,
    isResume,
    viewer,
  });
  return undefined;
}

/** [C E-05] the id of the position just before the first event to come, or a comment. */
function opening(resume: Resume, cursor: EventPlace): string {
  if (!resume.session.isPrimed) return frameComment("stream open");
  return primingFrame(encodeEventId(cursor), resume.endpoint.context.options.retryMs);
}

/** [C R-03] */
function refuseGap({ endpoint, session }: Resume, gap: Gap): Rejection {
  noteGap(endpoint, session, gap, false);
  const data = resumeWindowExceeded(gap, endpoint.context.options.retention);
  const extent =
    gap.lostEvents === null ? "An unknown number of events" : `${gap.lostEvents} events`;
  return reject(
    "resume-window-exceeded",
    `${extent} after the Last-Event-ID can no longer be sent; the session is alive. Tell the ` +
      "application, then go on from oldestEventId.",
    { data: { ...data } },
  );
}

/** [C R-09] A client that did not understand the refusal is told in-band when it asks again. */
async function isServedInBand({ endpoint, session, request }: Resume, gap: Gap): Promise<boolean> {
  const { gapSignal } = endpoint.context.options;
  const knowsContract = request.header("mcp-resume-contract")?.trim() === "1";
  if (gapSignal === "status" || knowsContract) return false;
  return gapSignal === "in-band" || session.viewports.isRefusedAgain(gap.requested);
}

/** [C R-09] First that something is lost, then all that is kept; never silent. */
async function showGap(resume: Resume, gap: Gap): Promise<undefined> {
  const { endpoint, session, reply, headers } = resume;
  const data = resumeWindowExceeded(gap, endpoint.context.options.retention);
  noteGap(endpoint, session, gap, true);
  // Without an id: a reader that is cut here asks with its old cursor again.
  const notice = frameEvent({ data: gapNotification(data) });
  const stream = await session.viewports.stream(gap.stream);
  const epilogue = stream === undefined ? "" : lostAnswers(stream);
  // A stream that went with a lost end of the log has no other viewport.
  const viewer = stream === undefined ? undefined : await session.attach(gap.stream, stream);
  const sink = reply.stream({ ...headers, ...eventStreamHeaders });
  session.viewports.show(sink, {
    cursor: gap.retained,
    preface: notice + opening(resume, gap.retained),
    isResume: true,
    viewer,
    ...(epilogue === "" ? {} : { epilogue }),
  });
}

function noteGap({ context }: Endpoint, session: SessionFace, gap: Gap, isInBand: boolean): void {
  const { stream, lostEvents } = gap;
  const [from, to] = [gap.requested.position, gap.oldest.position];
  context.telemetry.gapServed(session.tag, { stream, lostEvents, isInBand, from, to });
}

/** [C R-09] "if the response is no longer retained, -32011 for its request ends the stream" */
function lostAnswers(stream: StreamState): string {
  return stream.calls
    .filter((call) => call.state === "answered" && call.position <= stream.evictedThrough)
    .map((call) => frameEvent({ data: outcomeUnknownMessage(call, "window-expired") }))
    .join("");
}
