/** `holdfast demo serve`: our own small server behind the gateway, and how to try it with curl. */
import { mkdirSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { demoDirectory } from "./command-line.ts";

/** The command that runs the demo server; its charges outlive it in the working directory. */
export function demoCommand(): { readonly command: string; readonly args: readonly string[] } {
  mkdirSync(demoDirectory, { recursive: true });
  const main = `./demo-server/main${extname(import.meta.url)}`;
  const script = fileURLToPath(new URL(main, import.meta.url));
  return { command: process.execPath, args: [script, `${demoDirectory}/charges.txt`] };
}

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "curl", version: "1" },
  },
});
const charge = JSON.stringify({
  jsonrpc: "2.0",
  id: 2,
  method: "tools/call",
  params: { name: "charge", arguments: { amount: 42 }, _meta: { progressToken: 1 } },
});

/** Two things to paste into any shell: a call that is cut after 3 s, and its resume. */
export function demoTranscript(url: string): string {
  return `
Try it in another terminal. A charge of 8 s, cut after 3:

U=${url} J='content-type: application/json'
S=$(curl -s -o /dev/null -w '%header{mcp-session-id}' -H "$J" -d '${initialize}' $U)
E=$(curl -sN -m 3 -H "$J" -H "mcp-session-id: $S" -d '${charge}' $U | tee /dev/stderr | sed -n 's/^id: //p' | sed '$!d')

And its resume: the events that were missed, and the result, once.

curl -sN -H "accept: text/event-stream" -H "mcp-session-id: $S" -H "last-event-id: $E" $U
`;
}
