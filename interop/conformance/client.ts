/**
 * The client that the conformance suite tests: `ResumableClientTransport` under a client of SDK v1.
 * The suite gives the server's URL as the last argument and the scenario in the environment.
 */
import { ResumableClientTransport } from "@holdfast/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const url = process.argv.at(-1) ?? "";

/** What each scenario wants to be called. */
const calls: Readonly<Record<string, readonly [string, Record<string, unknown>] | undefined>> = {
  tools_call: ["add_numbers", { a: 5, b: 3 }],
  "elicitation-sep1034-client-defaults": ["test_client_elicitation_defaults", {}],
  "sse-retry": ["test_reconnection", {}],
};

const client = new Client(
  { name: "holdfast-conformance", version: "1.0.0" },
  { capabilities: { elicitation: { form: { applyDefaults: true } } } },
);
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }));
const transport = new ResumableClientTransport(url);
// The SDK's own types do not agree under exactOptionalPropertyTypes.
await client.connect(transport as Transport);
const call = calls[scenario];
if (call !== undefined) {
  const [name, args] = call;
  await client.listTools();
  await client.callTool({ name, arguments: args });
}
await client.close();
