/**
 * Chapter: replay and live do not race. Seeded runs of readers that come back at random moments
 * while a writer runs at full speed; each must get exactly the log's order, or be told exactly
 * what it lost.
 */
import { expect, test } from "vitest";
import type { RpcMessage } from "../event-stream.ts";
import { type SeededRandom, seededRandom, testSeed } from "../seeded-random.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { note, numberOf, placeOf, range } from "./traffic.ts";

const runs = 1_000;

export function racesChapter(open: OpenBench): void {
  test(`${verifies("E-08", "R-01", "c010")}${runs} resumes beside a writer at full speed`, async () => {
    const bench = await open({ options: { heartbeatMs: 0 } });
    await resumeAtRandom(await bench.session(), seededRandom(testSeed("resumes")), runs);
  });

  test(`${verifies("E-08", "R-01", "c010")}the same where reads are handed on late`, async () => {
    const random = seededRandom(testSeed("late reads"));
    const bench = await open({
      options: { heartbeatMs: 0 },
      // Between "read" and "wait to be woken": what is written meanwhile must not be missed.
      logGate: {
        afterRead: async () => {
          for (let turns = random.pick([0, 0, 1, 3]); turns > 0; turns -= 1) await turn();
        },
      },
    });
    await resumeAtRandom(await bench.session(), random, runs / 4);
  });

  test(`${verifies("E-08", "R-03", "R-04", "E-09", "c010")}the same while events are evicted`, async () => {
    const retention = { windowMs: 1_800_000, maxEvents: 60, maxBytes: 2 ** 26 };
    const bench = await open({ options: { heartbeatMs: 0, retention, gapSignal: "status" } });
    const session = await bench.session();
    const random = seededRandom(testSeed("resumes under eviction"));
    const account = await readUnderEviction(session, random, runs / 2);
    // Told of each loss, exactly: what was seen and what was lost are everything that was said.
    expect(account.seen + account.lost).toBe(account.said);
    expect(account.seen).toBeGreaterThan(0);
    expect(account.gaps).toBeGreaterThan(0);
  });
}

/** Each run: resume at a cursor of the last while, read to the end of what the writer says. */
async function resumeAtRandom(
  session: BenchSession,
  random: SeededRandom,
  count: number,
): Promise<void> {
  // Ids by number: the note n has the position n, since nothing else is said.
  const stream = await session.get();
  await stream.nextEvent();
  const origin = placeOf(stream.lastEventId);
  const idOf = (number: number) => {
    const { tag, incarnation } = origin;
    return `${tag}.0.${number}.${incarnation}`;
  };
  const writer = writeNotes(session, random);
  for (let run = 0; run < count; run += 1) {
    const from = random.int(Math.max(0, writer.said - 20), writer.said);
    const burst = writer.burst(random.int(2, 20));
    for (let turns = random.int(0, 5); turns > 0; turns -= 1) await turn();
    const reader = await session.get({ lastEventId: idOf(from) });
    expect(reader.status).toBe(200);
    const said = await burst;
    const seen: number[] = [];
    while (seen.at(-1) !== said) {
      const number = numberOf(await reader.nextMessage());
      if (number !== undefined) seen.push(number);
    }
    expect(seen).toEqual(range(from + 1, said));
    if (random.chance(0.5)) reader.destroy(random.pick(["fin", "rst"]));
  }
}

/** A reader that is cut at random, over and over, and accounts for every event. */
async function readUnderEviction(session: BenchSession, random: SeededRandom, count: number) {
  const first = await session.get();
  await first.nextEvent();
  let cursor = first.lastEventId as string;
  let position = 0;
  let [seen, lost, gaps] = [0, 0, 0];
  const writer = writeNotes(session, random);
  const resume = async (messagesMax: number) => {
    const reader = await session.get({ lastEventId: cursor });
    if (reader.status === 410) {
      const { data } = ((await reader.json()) as RpcMessage).error ?? {};
      const oldest = placeOf(String(data?.["oldestEventId"]));
      expect(data?.["lostEvents"]).toBe(oldest.position - position);
      expect(oldest.position).toBeGreaterThan(position);
      gaps += 1;
      lost += oldest.position - position;
      position = oldest.position;
      cursor = String(data?.["oldestEventId"]);
      return;
    }
    expect(reader.status).toBe(200);
    for (let left = messagesMax; left > 0; left -= 1) {
      const item = await reader.next();
      // Evicted under it: it ends, and says nothing of its own.
      if (item === undefined) break;
      if (item.kind !== "event" || item.data === "") continue;
      position += 1;
      seen += 1;
      expect(numberOf(JSON.parse(item.data) as RpcMessage)).toBe(position);
      cursor = item.id as string;
      if (position === writer.promised) break;
    }
    reader.destroy("rst");
  };
  for (let run = 0; run < count; run += 1) {
    const burst = writer.burst(random.int(5, 100));
    await resume(random.int(1, 80));
    await burst;
  }
  while (position < writer.said) await resume(Number.POSITIVE_INFINITY);
  return { seen, lost, gaps, said: writer.said };
}

/** Says notes 1, 2, 3 … on the standalone stream, many in a turn of the loop. */
function writeNotes(session: BenchSession, random: SeededRandom) {
  let said = 0;
  let promised = 0;
  return {
    /** Number of the newest note. */
    get said() {
      return said;
    },
    /** Number of the last note of the bursts that have begun. */
    get promised() {
      return promised;
    },
    /** @returns the number of its last note, once it is said */
    burst: async (notes: number): Promise<number> => {
      promised += notes;
      for (let left = notes; left > 0; left -= 1) {
        said += 1;
        session.upstream.say(note(said));
        if (random.chance(0.2)) await turn();
      }
      return said;
    },
  };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
