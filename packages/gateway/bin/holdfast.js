#!/usr/bin/env node
// Starts the command, in this very process: signals and exit codes are its own. Until the check of
// the version nothing here may be newer than Node 12, or an old Node says SyntaxError instead.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const needed = [22, 15];

main();

function main() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
    fail(
      "holdfast needs Node " +
        needed.join(".") +
        " or newer; this is " +
        process.version +
        ". " +
        "Install a newer Node, or in a checkout run: npm ci && npm run holdfast --",
    );
    return;
  }
  // A checkout runs its sources as they are; a published package has no src.
  const isCheckout = existsSync(fileURLToPath(new URL("../src/main.ts", import.meta.url)));
  (isCheckout ? startSources() : import("../dist/main.js")).catch((error) => {
    fail("holdfast could not start: " + (error && error.message ? error.message : error));
  });
}

async function startSources() {
  if (!process.features.typescript) {
    fail("This Node does not run TypeScript sources; use npm run holdfast -- in the checkout.");
    return;
  }
  const { registerHooks } = await import("node:module");
  registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, {
        ...context,
        conditions: [...context.conditions, "holdfast-source"],
      }),
  });
  await import("../src/main.ts");
}

function fail(sentence) {
  process.stderr.write(sentence + "\n");
  process.exitCode = 1;
}
