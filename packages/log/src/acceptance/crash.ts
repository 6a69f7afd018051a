/** Chapter: crash in mid-commit. What is left is a prefix, with all that was acknowledged. */
import { seededRandom, testSeed, verifies } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { placeAt } from "../incarnations.ts";
import { crashSession, crashTag, pairsThrough, streamOfPair } from "./crash-writer.ts";
import type { LogHarness, LogPlace } from "./harness.ts";
import { eventsOf, openScene } from "./scene.ts";

const rounds = 5;

export function crash<Place extends LogPlace>(
  harness: LogHarness<Place>,
  spawnWriter: NonNullable<LogHarness<Place>["spawnWriter"]>,
): void {
  describe("crash in mid-commit", () => {
    test(`${verifies("E-03", "S-07", "E-02")}leaves whole commits, in order, and all that was acknowledged`, async () => {
      const random = seededRandom(testSeed("crash in mid-commit"));
      const scene = await openScene(harness, { maxEvents: 1_000_000, maxBytes: 1_000_000_000 });
      const incarnations = new Set<string>();
      let before = 0;
      for (let round = 0; round < rounds; round += 1) {
        await scene.log.close();
        const writer = await spawnWriter(scene.place as Place);
        await writer.line(new RegExp(`^acknowledged ${before + random.int(1, 600)}$`, "m"));
        await writer.kill();
        const acknowledged = [...writer.stdout.matchAll(/^acknowledged (\d+)\n/gm)].map(
          firstNumber,
        );
        await scene.reopen();

        const state = await scene.state(crashSession, 1);
        const commits = state.head / 2;
        expect(Math.max(...acknowledged)).toBeLessThanOrEqual(commits);
        expect(commits).toBeGreaterThan(before);
        const begin = placeAt(crashTag, state, 0);
        const events = eventsOf(
          await scene.read(crashSession, begin, { events: 1_000_000, bytes: 1e9 }),
        );
        expect(events.map(({ text }) => text)).toEqual(pairsThrough(commits));
        for (let n = before + 1; n <= commits + 30; n += 1) {
          const stream = streamOfPair(n);
          if (stream === undefined) continue;
          const answered = await scene.log.stream(crashSession, stream);
          if (n > commits) expect(answered).toBeUndefined();
          else expect(answered).toMatchObject({ head: 1, isFinished: true });
        }
        // No two processes have written under one incarnation.
        incarnations.add(events.at(-1)!.place.incarnation);
        expect(incarnations.size).toBe(round + 1);
        before = commits;
      }
    });
  });
}

function firstNumber(match: RegExpMatchArray): number {
  return Number(match[1]);
}
