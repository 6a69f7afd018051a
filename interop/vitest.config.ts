import { defineConfig } from "vitest/config";

/** Outside judges: `npm run interop`, or one of `interop:…`; they want `npm ci --prefix interop`. */
const conditions = ["holdfast-source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["interop/**/*.test.ts"],
    setupFiles: ["vitest.setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    execArgv: conditions.map((condition) => `--conditions=${condition}`),
    env: { NODE_OPTIONS: conditions.map((condition) => `--conditions=${condition}`).join(" ") },
    testTimeout: 200_000,
    hookTimeout: 60_000,
  },
});
