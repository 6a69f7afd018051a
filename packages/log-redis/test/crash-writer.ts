/** The process that is killed: `node crash-writer.ts URL PREFIX`. */
import { writeUntilKilled } from "@holdfast/log/acceptance/crash-writer";
import { redisLog } from "@holdfast/log-redis";

const [url = "", prefix = ""] = process.argv.slice(2);
await writeUntilKilled(redisLog(url, { prefix, timeBy: "own" }));
