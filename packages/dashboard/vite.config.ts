/**
 * Builds the page into `page/`, which is checked in: names without hashes, so that a change is a
 * change of the same files. `node scripts/build-page.ts` runs it; a test compares.
 */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  resolve: { conditions: ["holdfast-source"] },
  build: {
    outDir: "page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/page.js",
        assetFileNames: "assets/page[extname]",
      },
    },
  },
  logLevel: "warn",
});
