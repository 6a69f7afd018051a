/** The everything server over stdio: `holdfast serve -- node examples/everything/stdio.ts`. */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { buildEverythingServer } from "./build-server.ts";

await buildEverythingServer().connect(new StdioServerTransport());
