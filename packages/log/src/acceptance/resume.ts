/** Chapter: readers that resume at a random moment while a writer runs at full speed. */
import type { EventPlace } from "@holdfast/contract";
import { type SeededRandom, seededRandom, testSeed, verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import type { SessionId } from "../event-log.ts";
import { turns } from "./concurrent.ts";
import type { LogHarness } from "./harness.ts";
import { notification, numbered, opening, openScene, response, type Scene } from "./scene.ts";

const runsDefault = 1_000;
const inOneLog = 50;

export function resume(harness: LogHarness): void {
  const runs = harness.resumeRuns ?? runsDefault;
  describe("resume under way", () => {
    test(`${verifies("E-08", "R-01", "c010")}delivers exactly the log's order, each event once`, async () => {
      const seed = testSeed("resume under way");
      for (let first = 0; first < runs; first += inOneLog) {
        const scene = await openScene(harness);
        for (let run = first; run < first + inOneLog; run += 1) {
          const { from, gaps, delivered, last } = await oneRun(scene, run, seed);
          expect(gaps).toEqual([]);
          expect(delivered).toEqual([...numbered(from + 1, last), "end"]);
        }
        await scene.log.close();
      }
    });

    test(`${verifies("E-08", "R-03", "R-04", "c010")}with eviction running, what is missing is told exactly`, async () => {
      const seed = testSeed("resume under way");
      let withGap = 0;
      for (let first = 0; first < runs; first += inOneLog) {
        const scene = await openScene(harness, { maxEvents: 8 });
        for (let run = first; run < first + inOneLog; run += 1) {
          const { from, gaps, delivered, last } = await oneRun(scene, run, seed);
          const missed = new Set(gaps.flatMap(([after, through]) => numbered(after + 1, through)));
          const seen = numbered(from + 1, last).filter((text) => !missed.has(text));
          expect(delivered).toEqual([...seen, "end"]);
          if (gaps.length > 0) withGap += 1;
        }
        await scene.log.close();
      }
      // Else this test would say nothing.
      expect(withGap).toBeGreaterThan(runs / 20);
    });
  });
}

interface Run {
  /** Position of the cursor that the reader came with. */
  readonly from: number;
  /** Each: after this position, through that one. */
  readonly gaps: readonly (readonly [after: number, through: number])[];
  readonly delivered: readonly string[];
  /** Position of the last notification. */
  readonly last: number;
}

async function oneRun(scene: Scene, run: number, seed: number): Promise<Run> {
  const random = seededRandom(seed + run);
  const session = await scene.create(`run ${run}`);
  const last = random.int(1, 40);
  const places: EventPlace[] = [await scene.open(session, 1)];
  const reading = turns(random)
    .then(() => turns(random))
    .then(() => follow(scene, session, random.pick(places), random));
  const writing = write(scene, session, last, places, random);
  const [read] = await Promise.all([reading, writing]);
  return { ...read, last };
}

async function write(
  scene: Scene,
  session: SessionId,
  last: number,
  places: EventPlace[],
  random: SeededRandom,
): Promise<void> {
  const commits: Promise<unknown>[] = [];
  for (let n = 1; n <= last; ) {
    const many = Math.min(random.int(1, 3), last - n + 1);
    const ops = numbered(n, n + many - 1).map((text) => notification(1, text));
    commits.push(scene.commit(session, ...ops).then((appended) => places.push(...appended)));
    n += many;
    if (random.chance(0.3)) await turns(random);
  }
  commits.push(scene.commit(session, response(1, "end"), opening(2)));
  await Promise.all(commits);
}

/** What a viewport does: read after its cursor until there is no more, then wait to be woken. */
async function follow(
  scene: Scene,
  session: SessionId,
  begin: EventPlace,
  random: SeededRandom,
): Promise<Omit<Run, "last">> {
  const delivered: string[] = [];
  const gaps: (readonly [number, number])[] = [];
  let cursor = begin;
  let news = Promise.withResolvers<void>();
  const leave = scene.log.follow(session, 1, () => news.resolve());
  for (;;) {
    if (random.chance(0.3)) await turns(random);
    news = Promise.withResolvers();
    const outcome = await scene.read(session, cursor, { events: random.int(1, 9), bytes: 1_000 });
    if (outcome.kind === "finished") break;
    if (outcome.kind === "gap") {
      const { requested, oldest, lostEvents } = outcome.gap;
      expect(requested).toEqual(cursor);
      expect(lostEvents).toBe(oldest.position - cursor.position);
      gaps.push([cursor.position, oldest.position]);
      cursor = oldest;
    } else if (outcome.kind === "events") {
      delivered.push(...outcome.events.map(({ text }) => text));
      cursor = outcome.events.at(-1)?.place ?? cursor;
      if (outcome.events.length === 0) await news.promise;
    } else {
      throw new Error(outcome.kind);
    }
  }
  leave();
  return { from: begin.position, gaps, delivered };
}
