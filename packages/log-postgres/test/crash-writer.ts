/** The process that is killed: `node crash-writer.ts URL`. */
import { writeUntilKilled } from "@holdfast/log/acceptance/crash-writer";
import { postgresLog } from "@holdfast/log-postgres";

const [url = ""] = process.argv.slice(2);
await writeUntilKilled(postgresLog(url));
