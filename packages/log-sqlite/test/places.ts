/** Files of logs for tests, and what can befall them. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LogHarness, LogPlace } from "@holdfast/log/acceptance";
import { type SqliteLogOptions, sqliteLog } from "@holdfast/log-sqlite";
import { onDispose, spawnProcess } from "@holdfast/testkit";

export interface FilePlace extends LogPlace {
  readonly directory: string;
  readonly file: string;
}

export async function filePlace(options: SqliteLogOptions = {}): Promise<FilePlace> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-log-"));
  const file = join(directory, "log.db");
  const remove = () => rm(directory, { recursive: true, force: true });
  onDispose(remove);
  return { directory, file, remove, log: () => sqliteLog(file, options) };
}

/** Keep a copy of the closed file. @returns puts it back */
export async function copyFile({ directory, file }: FilePlace): Promise<() => Promise<void>> {
  const kept = join(directory, "copy");
  await cp(file, kept);
  return async () => {
    await rm(`${file}-wal`, { force: true });
    await rm(`${file}-shm`, { force: true });
    await cp(kept, file);
  };
}

export function sqliteHarness(options: SqliteLogOptions = {}): LogHarness<FilePlace> {
  return {
    place: () => filePlace(options),
    copy: copyFile,
    spawnWriter: ({ file }) =>
      spawnProcess(
        "node",
        [join(import.meta.dirname, "crash-writer.ts"), file, options.durability ?? "process"],
        { readyPattern: /^ready$/m },
      ),
  };
}
