import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** They take minutes, waiting more than working: begun last, everything would wait for them. */
const LONG = ["faults", "leastPrivilege", "killed", "faultsOfServers", "recovery"].map((name) => `/${name}.test.ts`);

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.some((name) => moduleId.endsWith(name));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/**
 * Three projects: `unit` needs nothing; `integration`, then `e2e`, share one embedded control plane per run. Files that run controllers, which
 * answer for a whole cluster, start a control plane of their own, so files run side by side; they wait more than they work.
 */
export default defineConfig({
  test: {
    reporters: ["default"],
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: ["{cmd,pkg}/**/*.test.ts", "test/{arch,bench,cases,ci,fuzz,goldens,recording,soak,support}/**/*.test.ts"],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          globalSetup: ["test/support/globalSetup.ts"],
          testTimeout: 120_000,
          hookTimeout: 900_000,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/support/globalSetup.ts"],
          testTimeout: 300_000,
          hookTimeout: 900_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
