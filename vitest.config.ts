import { defineConfig } from "vitest/config";

/** Three projects: `unit` needs nothing, `integration` and `e2e` share one embedded control plane per run. */
export default defineConfig({
  test: {
    reporters: ["default"],
    projects: [
      { test: { name: "unit", include: ["{cmd,pkg}/**/*.test.ts", "test/arch/**/*.test.ts", "test/cases/**/*.test.ts"], testTimeout: 30_000 } },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          globalSetup: ["test/support/globalSetup.ts"],
          testTimeout: 120_000,
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/support/globalSetup.ts"],
          testTimeout: 300_000,
          hookTimeout: 900_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
