/** What is asked of sessions and streams as they are. */
import type { EventPlace } from "@holdfast/contract";
import {
  type EndReason,
  judge,
  type LoggedEvent,
  placeAt,
  type ReadLimit,
  type ReadOutcome,
  type Seen,
  type SessionId,
  type SessionState,
  type StreamState,
} from "@holdfast/log";
import type { Desk } from "./desk.ts";
import { type SessionKeys, sessionKeys } from "./keys.ts";
import { ownerOf } from "./operations.ts";
import { groupsOf, listOf, textsOf } from "./replies.ts";
import { readStream } from "./stream-text.ts";

/** Sessions that are looked up at once for a page. */
const pageMax = 500;

const kinds = { n: "notification", q: "request", r: "response" } as const;

export async function readAfter(
  desk: Desk,
  id: SessionId,
  cursor: EventPlace,
  limit: ReadLimit,
): Promise<ReadOutcome> {
  const { line, keys, attendance } = desk;
  const { all } = sessionKeys(keys.prefix, id);
  const args = [cursor.stream, cursor.position, limit.events, limit.bytes].map(String);
  let found = await line.script("read", all.slice(0, 3), args);
  if (found === "lost") {
    await line.script("lose", all, [`${cursor.stream}`]);
    found = await line.script("read", all.slice(0, 3), args);
  }
  const reply = textsOf(found);
  const [tag, kept = "", generation, ended = "", text = "", calls = "", viewer = ""] = reply;
  if (tag === undefined) return { kind: "absent" };
  const texts = { stream: cursor.stream, text, calls, viewer };
  const stream = text === "" ? undefined : readStream(texts, attendance);
  const isOld = Number(generation) < attendance.generation;
  const incarnation = isOld ? attendance.lossIncarnation : kept;
  const judgement = judge(cursor, tag, stream, incarnation);
  const seen: Seen = {
    ...(ended === "" ? {} : { ended: ended as EndReason }),
    ...(viewer === "" ? {} : { viewer }),
  };
  if (judgement.kind === "finished") return { kind: "finished", ...seen };
  if (judgement.kind !== "honoured") return judgement;
  if (stream === undefined) throw new Error("a cursor of an unknown stream was honoured");
  return { kind: "events", events: eventsOf(reply.slice(7), tag, stream, cursor), ...seen };
}

function eventsOf(
  texts: readonly string[],
  tag: string,
  stream: StreamState,
  { position }: EventPlace,
): readonly LoggedEvent[] {
  return texts.map((event, i) => ({
    place: placeAt(tag, stream, position + i + 1),
    kind: kinds[event[0] as keyof typeof kinds],
    text: event.slice(1),
  }));
}

const fields = [
  ...["session", "tag", "principal", "data", "createdAt", "ended", "next", "purged"],
  ...["owner", "fence", "inbox", "calls", "running"],
] as const;

export async function readSession(desk: Desk, id: SessionId): Promise<SessionState | undefined> {
  return readState(desk, sessionKeys(desk.keys.prefix, id));
}

async function readState(
  { line }: Desk,
  { session }: SessionKeys,
): Promise<SessionState | undefined> {
  const reply = listOf(await line.command("HMGET", session, ...fields));
  const texts = reply.map((one) => (typeof one === "string" ? one : undefined));
  const [id, tag = "", principal = "", data = "", createdAt, ended, next, purged, ...rest] = texts;
  if (id === undefined) return undefined;
  const [owner, fence, inbox = 0, calls = 0, streams = 0] = rest;
  const holding = {
    owner: ownerOf(owner),
    ...{ fence: Number(fence), inbox: Number(inbox) },
    ...{ calls: Number(calls), streams: Number(streams) },
  };
  return {
    ...{ session: id as SessionId, tag, principal, data },
    ...{ createdAtMs: Number(createdAt), nextStream: Number(next) },
    ...(ended === undefined ? {} : { ended: ended as EndReason }),
    ...(purged === undefined ? { holding } : {}),
  };
}

export async function readStreamState(
  desk: Desk,
  id: SessionId,
  stream: number,
): Promise<StreamState | undefined> {
  const { all } = sessionKeys(desk.keys.prefix, id);
  const [, streams = ""] = all;
  const names = [`${stream}`, `${stream}:c`, `${stream}:v`];
  const reply = listOf(await desk.line.command("HMGET", streams, ...names));
  const [text, calls, viewer] = reply.map((one) => (typeof one === "string" ? one : ""));
  if (text === undefined || text === "") return undefined;
  return readStream({ stream, text, calls: calls ?? "", viewer: viewer ?? "" }, desk.attendance);
}

export async function readRunning(desk: Desk, id: SessionId): Promise<readonly StreamState[]> {
  const { all } = sessionKeys(desk.keys.prefix, id);
  const reply = textsOf(await desk.line.script("running", all, []));
  return [...groupsOf(reply, 4)].map(([stream, text = "", calls = "", viewer = ""]) =>
    readStream({ stream: Number(stream), text, calls, viewer }, desk.attendance),
  );
}

/** A page of the live sessions in the order of their ids. */
export async function listSessions(
  desk: Desk,
  after: SessionId | undefined,
  limit: number,
): Promise<readonly SessionState[]> {
  const [, , , , live] = desk.keys.index;
  const found: SessionState[] = [];
  let from = after === undefined ? "-" : `(${after}`;
  // The index may name sessions that are over, or never were: they are passed over.
  while (found.length < limit) {
    const count = Math.min(limit - found.length, pageMax);
    const query = [live, from, "+", "LIMIT", "0", `${count}`];
    const ids = textsOf(await desk.line.command("ZRANGEBYLEX", ...query));
    const states = await Promise.all(ids.map((id) => readSession(desk, id as SessionId)));
    for (const state of states) {
      if (state !== undefined && state.ended === undefined) found.push(state);
    }
    const last = ids.at(-1);
    if (last === undefined || ids.length < count) break;
    from = `(${last}`;
  }
  return found;
}
