/** Writes that fail: refused whole, nothing half done, and back when the cause is gone. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SessionId } from "@holdfast/log";
import { numbered, openScene } from "@holdfast/log/acceptance";
import { sqliteLog } from "@holdfast/log-sqlite";
import { disposeAll, smallDisk, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { type FilePlace, sqliteHarness } from "./places.ts";

afterEach(disposeAll);

const unavailable = { name: "LogError", code: "ERR_LOG_UNAVAILABLE" };

test(`${verifies("N-05", "c043")}another program's lock: commits are refused whole, then go on`, async () => {
  const scene = await openScene(sqliteHarness(), { maxEvents: 5 });
  const session = await scene.create("a");
  await scene.open(session, 1);
  await scene.note(session, 1, ...numbered(1, 5));
  const before = [await scene.log.session(session), await scene.state(session, 1)];

  const other = new DatabaseSync((scene.place as FilePlace).file);
  other.exec("begin immediate");
  const refused = await Promise.allSettled([
    scene.note(session, 1, "n6"),
    scene.open(session, 2),
    scene.create("b"),
    scene.log.sweep(),
  ]);
  for (const one of refused) {
    expect(one).toMatchObject({
      reason: { ...unavailable, hint: expect.stringContaining("lock") },
    });
  }
  // Reading goes on.
  expect([await scene.log.session(session), await scene.state(session, 1)]).toEqual(before);
  expect(await scene.texts(session, await scene.at(session, 1, 0))).toEqual(numbered(1, 5));
  expect(await scene.log.stream(session, 2)).toBeUndefined();
  other.exec("rollback");
  other.close();

  expect(await scene.note(session, 1, "n6")).toMatchObject([{ position: 6 }]);
  await scene.create("b");
  await scene.sweep();
  expect(await scene.texts(session, await scene.at(session, 1, 1))).toEqual(numbered(2, 6));
});

test(`${verifies("E-03", "N-05")}a failure in the middle of a batch leaves nothing of it`, async () => {
  const scene = await openScene(sqliteHarness(), { maxEvents: 5 });
  const session = await scene.create("a");
  await scene.open(session, 1);
  await scene.note(session, 1, ...numbered(1, 5));
  const leave = scene.log.follow(session, 1, () => {});
  const before = [await scene.log.session(session), await scene.state(session, 1)];
  const begin = await scene.at(session, 1, 0);

  const other = new DatabaseSync((scene.place as FilePlace).file);
  other.exec(`create trigger poisoned before insert on events when new.text = 'poison'
    begin select raise(abort, 'poisoned'); end`);
  const batch = () => [
    scene.note(session, 1, "n6"),
    scene.create("b"),
    scene.note(session, 1, "poison"),
    scene.open(session, 2),
    scene.answer(session, 1, "r"),
  ];
  for (let i = 0; i < 2; i += 1) {
    for (const one of await Promise.allSettled(batch())) {
      expect(one).toMatchObject({ reason: unavailable });
    }
    expect([await scene.log.session(session), await scene.state(session, 1)]).toEqual(before);
    expect(await scene.texts(session, begin)).toEqual(numbered(1, 5));
    expect(await scene.log.session("b" as SessionId)).toBeUndefined();
  }
  expect(scene.evictions).toEqual([]);
  other.exec("drop trigger poisoned");
  other.close();

  expect(await scene.note(session, 1, "n6")).toMatchObject([{ position: 6 }]);
  expect(await scene.state(session, 1)).toMatchObject({ head: 6, evictedThrough: 1 });
  leave();
});

test(`${verifies("c043")}the same attempt, repeated after a failure, takes effect once`, async () => {
  const scene = await openScene(sqliteHarness());
  const session = await scene.create("a");
  const note = { op: "append", stream: 0, kind: "notification", text: "n" } as const;
  const first = await scene.attempt(session, [note], "first");
  const other = new DatabaseSync((scene.place as FilePlace).file);
  other.exec("begin immediate");
  await expect(scene.attempt(session, [note], "second")).rejects.toMatchObject(unavailable);
  other.exec("rollback");
  other.close();
  const second = await scene.attempt(session, [note], "second");
  expect(await scene.attempt(session, [note], "second")).toEqual(second);
  // A failure in between has not made it forget.
  expect(await scene.attempt(session, [note], "first")).toEqual(first);
  expect((await scene.state(session, 0)).head).toBe(2);
});

test(`${verifies("N-05", "D-03")}a full disk: refused, intact, and back when there is space`, async ({
  skip,
}) => {
  const directory = smallDisk(4096) ?? skip("this user may not mount a small file system");
  const log = () => sqliteLog(join(directory, "log.db"));
  const scene = await openScene(
    { place: async () => ({ log, remove: async () => {} }) },
    { maxEvents: 100_000, maxBytes: 1_000_000_000 },
  );
  const session = await scene.create("a");
  const begin = await scene.at(session, 0, 0);
  // The disk is filled by the log and by a ballast.
  const ballast = join(directory, "ballast");
  writeFileSync(ballast, Buffer.alloc(2_600_000));
  const large = (n: number) => `n${n} `.padEnd(20_000, "x");
  const fits = 4_000_000 / 20_000;
  let acknowledged = 0;
  const filling = async () => {
    for (; acknowledged < fits; acknowledged += 1) {
      await scene.note(session, 0, large(acknowledged + 1));
    }
  };
  await expect(filling()).rejects.toMatchObject({
    ...unavailable,
    hint: expect.stringMatching(/disk|space/i),
  });
  expect(acknowledged).toBeGreaterThan(10);
  const expected = () => Array.from({ length: acknowledged }, (_, i) => large(i + 1));
  expect(await scene.texts(session, begin)).toEqual(expected());
  await expect(scene.note(session, 0, large(0))).rejects.toMatchObject(unavailable);
  expect((await scene.state(session, 0)).head).toBe(acknowledged);

  rmSync(ballast);
  await scene.note(session, 0, large(acknowledged + 1));
  acknowledged += 1;
  expect(await scene.texts(session, begin)).toEqual(expected());
  await scene.reopen();
  expect(await scene.texts(session, begin)).toEqual(expected());
});
