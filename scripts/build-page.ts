/**
 * Build the dashboard's page into `packages/dashboard/page`, which is checked in.
 *
 *     node scripts/build-page.ts [DIRECTORY]
 */
import { fileURLToPath } from "node:url";
import { build } from "vite";

const configFile = fileURLToPath(new URL("../packages/dashboard/vite.config.ts", import.meta.url));

/** @param outDir - another directory than the checked-in one */
export async function buildPage(outDir?: string): Promise<void> {
  await build({ configFile, ...(outDir === undefined ? {} : { build: { outDir } }) });
}

if (import.meta.main) await buildPage(process.argv[2]);
