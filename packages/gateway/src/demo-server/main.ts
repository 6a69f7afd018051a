/**
 * A small MCP server over stdio, written without an SDK, to try Holdfast on.
 *
 *     node main.ts CHARGES_FILE
 */
import { openLedger } from "./ledger.ts";
import { type JsonObject, objectOf, type RequestHandler, RpcError, servePeer } from "./peer.ts";
import { callTool, listTools, type ToolWorld } from "./tools.ts";

const versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const levels: readonly string[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];
const chargesUri = "demo://charges";

await main(process.argv[2] ?? "charges.txt");

async function main(chargesFile: string): Promise<void> {
  let capabilities: JsonObject = {};
  let level = 0;
  const ledger = openLedger(chargesFile);
  const world: ToolWorld = {
    ledger,
    clientCapabilities: () => capabilities,
    wantsLevel: (name) => levels.indexOf(name) >= level,
    say: (line) => void process.stderr.write(`${line}\n`),
  };
  const handlers: Record<string, RequestHandler> = {
    initialize: ({ params }) => {
      capabilities = objectOf(params.capabilities);
      const asked = String(params.protocolVersion);
      return {
        protocolVersion: versions.includes(asked) ? asked : (versions[0] ?? ""),
        capabilities: { tools: {}, resources: {}, logging: {} },
        serverInfo: { name: "holdfast-demo", version: "1.0.0" },
        instructions: "Cut the connection while `charge` runs: its receipt arrives all the same.",
      };
    },
    ping: () => ({}),
    "logging/setLevel": ({ params }) => {
      const next = levels.indexOf(String(params.level));
      if (next < 0) throw new RpcError(-32602, `There is no level "${String(params.level)}".`);
      level = next;
      return {};
    },
    "tools/list": listTools,
    "tools/call": (context) => callTool(context, world),
    "resources/list": () => ({
      resources: [{ uri: chargesUri, name: "charges", mimeType: "application/json" }],
    }),
    "resources/read": ({ params }) => {
      if (params.uri !== chargesUri) throw new RpcError(-32002, "There is no such resource.");
      const text = JSON.stringify(ledger.charges());
      return { contents: [{ uri: chargesUri, mimeType: "application/json", text }] };
    },
  };
  await servePeer(process.stdin, process.stdout, handlers);
  // Whatever still runs has nobody to tell.
  process.exit(0);
}
