/**
 * The workload of the soak: calls with and without keys, cuts, resumes, and processes that are
 * killed. It judges nothing: what it did and saw is its history.
 *
 * Rounds follow each other; within one, everything happens at once. Everything is drawn from one
 * seed; when a process dies among what is under way is the machine's own chance.
 */
import {
  acceptBoth,
  type EventStream,
  openEventStream,
  openSession,
  type SeededRandom,
  within,
} from "@holdfast/testkit";
import { type GatewayProcess, startGateway } from "../gateway-process.ts";
import type { Fact, Posted } from "./history.ts";
import { noResponse, type Reader, readViewport, resume, type Watch } from "./reading.ts";

export interface SoakSettings {
  readonly rounds: number;
  readonly random: SeededRandom;
  readonly directory: string;
  /** Of `holdfast serve`, the command included. */
  readonly args: readonly string[];
}

interface World extends SoakSettings {
  gateway: GatewayProcess;
  readonly history: Fact[];
  readonly sessions: string[];
  /** Of calls: readers of their streams. */
  readonly readers: Reader[];
  /** Of standalone streams. */
  readonly standalone: Reader[];
  readonly keys: Posted[];
  posts: number;
  /** Who listens from now on is cut at once. */
  isRoundOver: boolean;
  /** Of viewports of standalone streams, which do not end by themselves. */
  readonly cuts: (() => void)[];
  readonly watch: Watch & { seen(events: number): Promise<void> };
}

const sessionsMax = 4;

export async function runSoak(settings: SoakSettings): Promise<readonly Fact[]> {
  const history: Fact[] = [];
  const world: World = {
    ...settings,
    gateway: await startGateway(settings.args, settings.directory),
    ...{ history, sessions: [], readers: [], standalone: [], keys: [], posts: 0, cuts: [] },
    isRoundOver: false,
    watch: watchOf(history),
  };
  for (let round = 0; round < settings.rounds; round++) await playRound(world);
  await readToTheEnd(world);
  await world.gateway.kill("SIGTERM");
  return history;
}

function watchOf(history: Fact[]): World["watch"] {
  let events = 0;
  let waiting: (() => void)[] = [];
  return {
    note: (fact) => void history.push(fact),
    onEvent: () => {
      events += 1;
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    seen: async (more) => {
      const enough = events + more;
      while (events < enough) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}

async function playRound(world: World): Promise<void> {
  const { random, watch } = world;
  world.isRoundOver = false;
  if (world.sessions.length < sessionsMax) await openOne(world);
  const actions: Promise<unknown>[] = [];
  for (let left = random.int(1, 6); left > 0; left--) actions.push(call(world));
  for (const reader of world.readers) {
    if (!reader.isOver && random.chance(0.5)) actions.push(readOn(world, reader));
  }
  const listening = world.standalone.filter(() => random.chance(0.5));
  const listens = listening.map((reader) => readOn(world, reader));
  const done = Promise.all(actions);
  const isKilled = random.chance(0.6);
  if (isKilled) {
    await Promise.race([watch.seen(random.int(0, 12)), done]);
    await world.gateway.kill(random.chance(0.9) ? "SIGKILL" : "SIGTERM");
    world.gateway = await startGateway(world.args, world.directory);
  }
  await within(done, "the end of a round");
  // Those who listen to a live process have no end: they are cut.
  world.isRoundOver = true;
  for (const stop of world.cuts.splice(0)) stop();
  await within(Promise.all(listens), "the end of who listens");
}

async function openOne(world: World): Promise<void> {
  const session = await openSession(world.gateway.url);
  const get = await session.get();
  const { id = "" } = await get.nextEvent();
  get.destroy("rst");
  world.sessions.push(session.sessionId);
  const reader = { session: session.sessionId, first: id, cursor: id, isOver: false };
  world.standalone.push(reader);
}

async function readOn(world: World, reader: Reader): Promise<void> {
  const stream = await resume(world.gateway.url, reader, world.watch);
  if (stream === undefined) return;
  if (world.standalone.includes(reader)) {
    const cut = () => stream.destroy("rst");
    // Whose GET was answered late is cut with the others, too.
    if (world.isRoundOver) cut();
    else world.cuts.push(cut);
  }
  const cutAfter = world.random.chance(0.3) ? world.random.int(1, 5) : undefined;
  await readViewport(stream, reader, world.watch, { cutAfter });
}

/** A call, or the repetition of one under its key, and its stream until that ends or is cut. */
async function call(world: World): Promise<void> {
  const { random, history } = world;
  world.posts += 1;
  const post = world.posts;
  const isRepetition = world.keys.length > 0 && random.chance(0.3);
  const fresh = { label: `call-${post}`, steps: random.int(0, 6) };
  const key = random.chance(0.6) ? `key-of-${fresh.label}`.padEnd(16, "-") : undefined;
  const session = random.pick(world.sessions);
  const first = isRepetition ? random.pick(world.keys) : { ...fresh, key };
  const { label, steps } = first;
  const fact: Posted = { kind: "posted", post, session, label, steps, key: first.key };
  history.push(fact);
  // Everything a call does follows from its label, so that a repetition has the same payload.
  const number = Number(label.slice("call-".length));
  const args = { label, steps, pauseMs: number % 4, dies: number % 9 === 0 };
  const stream = await postCall(world.gateway.url, fact, args);
  const cutAfter = random.chance(0.4) ? random.int(1, 6) : undefined;
  const begun = await beginOf(stream);
  const isNotRun = stream?.status === 503;
  history.push({ kind: "answered", post, status: stream?.status, isNotRun, first: begun });
  if (key !== undefined && !isRepetition) world.keys.push(fact);
  if (stream === undefined || begun === undefined) return;
  const reader: Reader = { session, first: begun, cursor: begun, isOver: false };
  world.readers.push(reader);
  await readViewport(stream, reader, world.watch, { cutAfter });
}

function postCall(url: string, { post, session, key }: Posted, args: object) {
  const params = { name: "work", arguments: args, _meta: { progressToken: post } };
  return openEventStream({
    ...{ url, method: "POST" },
    body: JSON.stringify({ jsonrpc: "2.0", id: post, method: "tools/call", params }),
    headers: {
      accept: acceptBoth,
      "content-type": "application/json",
      "mcp-session-id": session,
      ...(key !== undefined && { "idempotency-key": key }),
    },
  }).catch(noResponse);
}

/** The id of the priming event; undefined when the connection died before it. */
async function beginOf(stream: EventStream | undefined): Promise<string | undefined> {
  if (stream?.status !== 200) return undefined;
  const event = await stream.nextEvent().catch(() => undefined);
  return event?.id;
}

/** All processes stay alive now: every stream comes to its end, and is read again as a whole. */
async function readToTheEnd(world: World): Promise<void> {
  const { history, watch } = world;
  for (const reader of world.readers) {
    while (!reader.isOver) {
      const stream = await resume(world.gateway.url, reader, watch);
      if (stream !== undefined) await readViewport(stream, reader, watch);
    }
  }
  for (const { session, first } of [...world.readers, ...world.standalone]) {
    const again: Reader = { session, first, cursor: first, isOver: false };
    const isStandalone = world.standalone.some((reader) => reader.first === first);
    const stream = await resume(world.gateway.url, again, watch);
    if (stream === undefined) throw new Error(`a stream cannot be read again: ${first}`);
    const ids = await readViewport(stream, again, watch, { stopsWhenIdle: isStandalone });
    history.push({ kind: "replayed", session, first, ids, isOver: again.isOver });
  }
}
