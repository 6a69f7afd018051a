/** The machine went down: what process durability may have lost is never mistaken for there. */
import type { EventPlace } from "@holdfast/contract";
import { placeAt } from "@holdfast/log";
import { openScene, type Scene } from "@holdfast/log/acceptance";
import { crashSession, crashTag } from "@holdfast/log/acceptance/crash-writer";
import { sqliteLog } from "@holdfast/log-sqlite";
import { disposeAll, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { type FilePlace, filePlace, sqliteHarness } from "./places.ts";

afterEach(disposeAll);

type Durability = "process" | "power";

/** A log that a killed process wrote, with the places that were in it before. */
async function killed(durability: Durability): Promise<{ place: FilePlace; places: EventPlace[] }> {
  const harness = sqliteHarness({ durability });
  const place = await filePlace({ durability });
  const kill = async () => {
    const writer = await harness.spawnWriter!(place);
    await writer.line(/^acknowledged \d+$/m);
    await writer.kill();
  };
  await kill();
  const scene = await openScene({ place: async () => place });
  const state = await scene.state(crashSession, 1);
  const standalone = await scene.state(crashSession, 0);
  const places = [0, 1, state.head].map((position) => placeAt(crashTag, state, position));
  places.push(placeAt(crashTag, standalone, 0));
  for (const cursor of places) {
    expect(await scene.read(crashSession, cursor)).toMatchObject({ kind: "events" });
  }
  await scene.log.close();
  await kill();
  return { place, places };
}

async function opened(place: FilePlace, durability: Durability, bootId: string): Promise<Scene> {
  const { file } = place;
  const log = () => sqliteLog(file, { durability, bootId: () => bootId });
  const harness = { place: async () => ({ ...place, log }) };
  // Room for all that the killed process wrote.
  return openScene(harness, { maxEvents: 1_000_000, maxBytes: 1_000_000_000 });
}

async function refused(scene: Scene, places: readonly EventPlace[]): Promise<void> {
  for (const cursor of places) {
    const outcome = await scene.read(crashSession, cursor);
    expect(outcome).toMatchObject({ kind: "gap", gap: { lostEvents: null } });
    if (outcome.kind !== "gap") continue;
    // [C R-04] what the gap names is honoured, and nothing is shown twice.
    expect(outcome.gap.oldest.position).toBe(cursor.position);
    for (const named of [outcome.gap.oldest, outcome.gap.head, outcome.gap.retained]) {
      expect((await scene.read(crashSession, named)).kind).toBe("events");
    }
  }
}

test(`${verifies("R-08", "E-02", "R-04")}every cursor from before is refused, every time, for ever`, async () => {
  const { place, places } = await killed("process");

  const first = await opened(place, "process", "another boot");
  await refused(first, places);
  const [after] = await first.note(crashSession, 1, "after");
  await refused(first, places);
  expect(await first.texts(crashSession, after!)).toEqual([]);
  // Nothing was kept of it in memory.
  await first.log.close();

  const second = await opened(place, "process", "another boot");
  await refused(second, places);
  const [later] = await second.note(crashSession, 1, "later");
  await refused(second, places);
  expect(await second.texts(crashSession, after!)).toEqual(["later"]);
  await second.log.close();

  // It was closed: this boot has lost nothing more.
  const third = await opened(place, "process", "third boot");
  await refused(third, places);
  expect(await third.texts(crashSession, after!)).toEqual(["later"]);
  expect(await third.texts(crashSession, later!)).toEqual([]);
});

test(`${verifies("R-08")}under power durability nothing acknowledged was lost, and all is honoured`, async () => {
  const { place, places } = await killed("power");
  const scene = await opened(place, "power", "another boot");
  for (const cursor of places) {
    expect(await scene.read(crashSession, cursor)).toMatchObject({ kind: "events" });
  }
});

test(`${verifies("R-08")}what counts is the durability with which it was written`, async () => {
  const { place, places } = await killed("process");
  await refused(await opened(place, "power", "another boot"), places);
});
