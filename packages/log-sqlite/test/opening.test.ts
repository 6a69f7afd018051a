/** Whose the file is: one process's, and a log's. */
import { mkdir, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { idempotencyTtlMs, keyed, openScene } from "@holdfast/log/acceptance";
import { sqliteLog } from "@holdfast/log-sqlite";
import { disposeAll, fakeClock, verifies } from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { schemaVersion } from "../src/schema.ts";
import { type FilePlace, filePlace, sqliteHarness } from "./places.ts";

afterEach(disposeAll);

const settings = {
  idempotencyTtlMs: 60_000,
  retention: { windowMs: 1_000, maxEvents: 10, maxBytes: 1_000 },
  clock: fakeClock(),
};

describe("a second process", () => {
  test(`${verifies("S-07")}is told who holds the log, and may have it when that one is killed`, async () => {
    const place = await filePlace();
    const holder = await sqliteHarness().spawnWriter!(place);
    const log = place.log();
    await expect(log.open(settings)).rejects.toMatchObject({
      name: "LogError",
      code: "ERR_LOG_LOCKED",
      message: expect.stringMatching(new RegExp(`held by process ${holder.pid} since 20\\d\\d-`)),
      hint: expect.stringContaining("Stop that process"),
      seen: holder.pid,
    });
    await holder.kill();
    await log.open(settings);
    await log.close();
  });

  test("is refused under another name of the same file, and in the same process", async () => {
    const { directory, file, log } = await filePlace();
    const first = log();
    await first.open(settings);
    const other = join(directory, "other-name.db");
    await symlink(file, other);
    const locked = { code: "ERR_LOG_LOCKED", seen: process.pid };
    await expect(log().open(settings)).rejects.toMatchObject(locked);
    await expect(sqliteLog(other).open(settings)).rejects.toMatchObject(locked);
    await first.close();
    const second = sqliteLog(other);
    await second.open(settings);
    await second.close();
  });
});

describe("a file that is no log", () => {
  test("of garbage, of one byte, or of another application is refused and left alone", async () => {
    const { directory } = await filePlace();
    const [garbage, byte, foreign] = ["garbage", "byte", "foreign"].map((n) => join(directory, n));
    await writeFile(garbage!, "no database ".repeat(1_000));
    await writeFile(byte!, "x");
    const db = new DatabaseSync(foreign!);
    db.exec("create table mine (x); insert into mine values (1)");
    db.close();
    for (const file of [garbage!, byte!, foreign!]) {
      const before = await readFile(file);
      const log = sqliteLog(file);
      // Twice: the first refusal lets go of the lock.
      for (let i = 0; i < 2; i += 1) {
        await expect(log.open(settings)).rejects.toMatchObject({
          name: "LogError",
          code: "ERR_LOG_CORRUPT",
          message: expect.stringContaining(file),
          hint: expect.stringMatching(/\w/),
        });
      }
      expect(await readFile(file)).toEqual(before);
    }
  });

  test("cut off is refused", async () => {
    const place = await filePlace();
    const log = place.log();
    await log.open(settings);
    await log.close();
    const { length } = await readFile(place.file);
    await truncate(place.file, length / 2);
    await expect(place.log().open(settings)).rejects.toMatchObject({ code: "ERR_LOG_CORRUPT" });
  });

  test("of a newer version is refused, with both versions", async () => {
    const place = await filePlace();
    const log = place.log();
    await log.open(settings);
    await log.close();
    const db = new DatabaseSync(place.file);
    db.exec(`pragma user_version = ${schemaVersion + 1}`);
    db.close();
    await expect(place.log().open(settings)).rejects.toMatchObject({
      code: "ERR_LOG_NEWER",
      seen: schemaVersion + 1,
      needed: schemaVersion,
    });
  });

  test("in a place that cannot be is refused, with the reason", async () => {
    const { directory } = await filePlace();
    await writeFile(join(directory, "file"), "");
    await mkdir(join(directory, "directory"));
    for (const file of [join(directory, "file", "log.db"), join(directory, "directory")]) {
      await expect(sqliteLog(file).open(settings)).rejects.toMatchObject({
        code: "ERR_LOG_UNAVAILABLE",
        message: expect.stringContaining(file),
      });
    }
    expect(() => sqliteLog("")).toThrow(TypeError);
    expect(() => sqliteLog(":memory:")).toThrow(TypeError);
  });
});

test("a directory that is missing is made; an empty file becomes a log", async () => {
  const { directory } = await filePlace();
  await mkdir(join(directory, "a"));
  await writeFile(join(directory, "a", "empty.db"), "");
  for (const file of [join(directory, "b", "c", "log.db"), join(directory, "a", "empty.db")]) {
    const log = sqliteLog(file);
    expect(log.location).toBe(`sqlite:${file}`);
    await log.open(settings);
    await log.close();
    expect((await readFile(file)).subarray(0, 15).toString()).toBe("SQLite format 3");
  }
});

test(`${verifies("W-05")}a closed log is one file that common tools read`, async () => {
  const scene = await openScene(sqliteHarness());
  const session = await scene.create("a");
  await scene.note(session, 0, "hello");
  await scene.log.close();
  const place = scene.place as FilePlace;
  const db = new DatabaseSync(place.file, { readOnly: true });
  expect(db.prepare("select text from events").all()).toEqual([{ text: "hello" }]);
  expect(db.prepare("pragma integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  db.close();
  expect(scene.log.durability).toBe("process");
  expect(sqliteLog(place.file, { durability: "power" }).durability).toBe("power");
});

test(`${verifies("S-02", "X-03")}after a crash, log time goes on from the newest use or answer`, async () => {
  const limits = { idleTtlMs: 1_000, unusedTtlMs: 1_000, touchLagMs: 0, sessions: 9 };
  const use = { op: "touch", isUsed: true } as const;
  const scene = await openScene(sqliteHarness());
  const session = await scene.create("a");
  /** The base as it was last written while there were no commits. */
  const crash = async () => {
    await scene.log.close();
    const db = new DatabaseSync((scene.place as FilePlace).file);
    db.exec("update meta set base_ms = 0, is_clean = 0");
    db.close();
    await scene.reopen();
  };
  scene.clock.advance(50_000);
  await scene.commit(session, use);
  await crash();
  scene.clock.advance(1_000);
  expect(await scene.log.rested(limits)).toEqual([session]);
  await scene.commit(session, keyed(1, "k"));
  await scene.commit(session, { op: "cancel", stream: 1, call: 0 });
  await crash();
  scene.clock.advance(idempotencyTtlMs);
  expect(await scene.log.claim("all", "k")).toBeUndefined();
});
