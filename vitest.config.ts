import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import LONG from "./.ci/longFiles.json" with { type: "json" };

const TESTS = join(import.meta.dirname, "test");
/** Files that take about a minute or more, the longest first. They start first, so that the run does not wait for them at the end. */
const LONG_FILES = Object.keys(LONG);

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ project, moduleId }: TestSpecification): number => {
      const at = project.name === "unit" ? -1 : LONG_FILES.indexOf(relative(TESTS, moduleId).replace(/\.test\.ts$/, ""));
      return at < 0 ? LONG_FILES.length : at;
    };
    return sorted.sort((one, other) => rank(one) - rank(other));
  }
}

/** Settings for all tests. The default cuts each value in a title after 40 characters. */
const WHOLE_TITLES = { taskTitleValueFormatTruncate: 160 };

/** Settings for tests on a control plane: three files at the same time, on any number of processors, because they mostly wait. */
const ON_CLUSTER = {
  ...WHOLE_TITLES,
  globalSetup: [".ci/console.mjs", "test/support/globalSetup.ts"],
  hookTimeout: 900_000,
  // A page or a controller may need seconds for a change on a busy machine.
  expect: { poll: { timeout: 60_000 } },
  maxWorkers: 3,
  sequence: { groupOrder: 1 },
};

/**
 * Three projects. Files of `unit` share processes, because they leave nothing behind. `integration` and `e2e` share one embedded control plane per run.
 * Files that run controllers start their own control plane, because controllers manage a whole cluster.
 */
export default defineConfig({
  test: {
    reporters: ["default"],
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "{cmd,pkg,release}/**/*.test.ts",
            "console/src/**/*.test.ts",
            "test/{arch,bench,cases,ci,conformance,docs,fuzz,goldens,recording,scale,soak,support}/**/*.test.ts",
          ],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          globalSetup: [".ci/console.mjs"],
          isolate: false,
          maxWorkers: Math.max(2, availableParallelism() - 1),
          sequence: { groupOrder: 0 },
          ...WHOLE_TITLES,
        },
      },
      { test: { name: "integration", include: ["test/integration/**/*.test.ts"], testTimeout: 300_000, ...ON_CLUSTER } },
      { test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], testTimeout: 600_000, ...ON_CLUSTER } },
    ],
  },
});
