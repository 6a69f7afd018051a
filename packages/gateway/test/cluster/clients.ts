/**
 * Clients of a cluster: each opens a session and calls, one call after the other, until it is told to
 * stop; whatever cuts it, it comes back with its cursor. They judge nothing: what they did and saw is
 * a history for the soak's checker.
 */
import { setTimeout as delay } from "node:timers/promises";
import { acceptBoth, openEventStream, openSession, type SeededRandom } from "@holdfast/testkit";
import type { Fact, Posted } from "../soak/history.ts";
import { noResponse, type Reader, readViewport, resume, type Watch } from "../soak/reading.ts";

export interface Crowd {
  readonly url: string;
  readonly random: SeededRandom;
  readonly history: Fact[];
  readonly readers: Reader[];
  isOver: boolean;
  posts: number;
}

/** How long a client waits before it tries again. */
const pauseMs = 100;
/** How often it tries to come to the end of a stream: a minute. */
const triesMax = 600;

export async function playClient(crowd: Crowd): Promise<void> {
  const session = await openPatiently(crowd);
  const keyed: Posted[] = [];
  while (!crowd.isOver) await call(crowd, session, keyed);
}

async function openPatiently(crowd: Crowd): Promise<string> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    try {
      return (await openSession(crowd.url)).sessionId;
    } catch {
      // Cut, refused for a while, or its answer lost: a session that nobody knows expires.
      await delay(pauseMs);
    }
  }
  throw new Error("no session could be opened");
}

async function call(crowd: Crowd, session: string, keyed: Posted[]): Promise<void> {
  const { random, history } = crowd;
  crowd.posts += 1;
  const post = crowd.posts;
  const isRepetition = keyed.length > 0 && random.chance(0.3);
  const label = `call-${post}`;
  const key = random.chance(0.6) ? `key-of-${label}`.padEnd(16, "-") : undefined;
  const fresh = { label, steps: random.int(0, 6), key };
  const first = isRepetition ? random.pick(keyed) : fresh;
  const fact: Posted = {
    ...{ kind: "posted", post, session },
    ...{ label: first.label, steps: first.steps, key: first.key },
  };
  history.push(fact);
  const args = { label: first.label, steps: first.steps, pauseMs: 20, dies: false };
  const params = { name: "work", arguments: args, _meta: { progressToken: post } };
  const stream = await openEventStream({
    ...{ url: crowd.url, method: "POST" },
    body: JSON.stringify({ jsonrpc: "2.0", id: post, method: "tools/call", params }),
    headers: {
      accept: acceptBoth,
      "content-type": "application/json",
      "mcp-session-id": session,
      ...(fact.key !== undefined && { "idempotency-key": fact.key }),
    },
  }).catch(noResponse);
  const begun =
    stream?.status === 200 ? (await stream.nextEvent().catch(() => undefined))?.id : undefined;
  // The balancer says 502, 503 and 504 by itself when a node is gone: that says nothing of the call.
  const isOurs = stream?.headers["content-type"]?.startsWith("application/json") === true;
  const status =
    stream !== undefined && (stream.status < 500 || isOurs) ? stream.status : undefined;
  const text = status === 503 ? await stream?.text() : "";
  const isNotRun = text?.includes('"notRun":true') === true;
  history.push({ kind: "answered", post, status, isNotRun, first: begun });
  if (fact.key !== undefined && !isRepetition) keyed.push(fact);
  if (stream === undefined || begun === undefined) {
    await delay(pauseMs);
    return;
  }
  const reader: Reader = { session, first: begun, cursor: begun, isOver: false };
  crowd.readers.push(reader);
  const cutAfter = random.chance(0.2) ? random.int(1, 6) : undefined;
  await readViewport(stream, reader, silent(crowd), { cutAfter });
  await readOn(crowd, reader);
}

/** Come back with the cursor until the stream is over. */
async function readOn(crowd: Crowd, reader: Reader): Promise<void> {
  for (let tries = 0; !reader.isOver; tries += 1) {
    if (tries > triesMax) throw new Error(`a stream did not end: ${reader.first}`);
    const stream = await resumePatiently(crowd, reader);
    if (stream !== undefined) await readViewport(stream, reader, silent(crowd));
    if (!reader.isOver) await delay(pauseMs);
  }
}

/** When everything is over, each stream is brought to its end, and read again as a whole. */
export async function readToTheEnd(crowd: Crowd): Promise<void> {
  const left = [...crowd.readers];
  const read = async (): Promise<void> => {
    for (let reader = left.pop(); reader !== undefined; reader = left.pop()) {
      await readOn(crowd, reader);
      await readAgain(crowd, reader);
    }
  };
  await Promise.all(Array.from({ length: readersAtOnce }, read));
}

const readersAtOnce = 8;

async function readAgain(crowd: Crowd, { session, first }: Reader): Promise<void> {
  const again: Reader = { session, first, cursor: first, isOver: false };
  const stream = await resumePatiently(crowd, again);
  if (stream === undefined) throw new Error(`a stream cannot be read again: ${first}`);
  const ids = await readViewport(stream, again, silent(crowd));
  crowd.history.push({ kind: "replayed", session, first, ids, isOver: again.isOver });
}

/** A balancer that finds no node says so in its own words: asked again. */
async function resumePatiently(crowd: Crowd, reader: Reader) {
  return resume(crowd.url, reader, silent(crowd)).catch((error: unknown) => {
    if (error instanceof Error && /^resume: 50[24]/.test(error.message)) return undefined;
    throw error;
  });
}

function silent({ history }: Crowd): Watch {
  return { note: (fact) => void history.push(fact), onEvent: () => undefined };
}
