import { defineConfig } from "vitest/config";

// Packages resolve each other's sources; a worker hands the condition on to what it spawns.
const conditions = ["holdfast-source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: [
      "packages/*/src/**/*.test.ts",
      "packages/*/test/**/*.test.ts",
      "packages/*/test/**/*.e2e.ts",
      "scripts/**/*.test.ts",
      "simulation/**/*.test.ts",
      "bench/**/*.test.ts",
      "examples/**/*.test.ts",
    ],
    setupFiles: ["vitest.setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    execArgv: conditions.map((condition) => `--conditions=${condition}`),
    env: { NODE_OPTIONS: conditions.map((condition) => `--conditions=${condition}`).join(" ") },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
