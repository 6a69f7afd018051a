/** The process that the crash chapter kills: `node crash-writer.ts FILE`. */
import { writeUntilKilled } from "@holdfast/log/acceptance/crash-writer";
import { sqliteLog } from "@holdfast/log-sqlite";

await writeUntilKilled(sqliteLog(process.argv[2] ?? ""));
