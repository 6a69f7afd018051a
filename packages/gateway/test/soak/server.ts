/**
 * The stdio server of the soak: each call has one effect, a line in a file, and counts aloud.
 *
 *     node server.ts EFFECTS_FILE
 */
import { randomBytes } from "node:crypto";
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { objectOf, servePeer } from "../../src/demo-server/peer.ts";

const [, , effectsFile = ""] = process.argv;
/** Of this process: its ticks are counted by themselves. */
const name = randomBytes(4).toString("hex");
let ticks = 0;

await servePeer(process.stdin, process.stdout, {
  initialize: ({ params }) => ({
    protocolVersion: String(params.protocolVersion),
    capabilities: { tools: {} },
    serverInfo: { name: "soak", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools: [{ name: "work", inputSchema: { type: "object" } }] }),
  /** `{ label, steps, pauseMs, dies }`: the effect, the steps, the result or the end of it all. */
  "tools/call": async ({ params, notify }) => {
    const { label, steps, pauseMs, dies } = objectOf(params.arguments);
    const { progressToken } = objectOf(params._meta);
    appendFileSync(effectsFile, `${label}\n`);
    for (let progress = 1; progress <= Number(steps); progress++) {
      if (Number(pauseMs) > 0) await delay(Number(pauseMs));
      if (progressToken !== undefined) {
        await notify("notifications/progress", { progressToken, progress, message: String(label) });
      }
      ticks += 1;
      await notify("notifications/resources/updated", { uri: `tick://${name}/${ticks}` });
    }
    if (dies === true) process.kill(process.pid, "SIGKILL");
    return { content: [{ type: "text", text: String(label) }] };
  },
});
process.exit(0);
