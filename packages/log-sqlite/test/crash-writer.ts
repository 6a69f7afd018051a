/** The process that is killed: `node crash-writer.ts FILE DURABILITY`. */
import { writeUntilKilled } from "@holdfast/log/acceptance/crash-writer";
import { sqliteLog } from "@holdfast/log-sqlite";

const [file = "", durability] = process.argv.slice(2);
await writeUntilKilled(
  sqliteLog(file, { durability: durability === "power" ? "power" : "process" }),
);
