import { join } from "node:path";
import { expect, test } from "vitest";
import { sharedData } from "../support/sharedDataFolder.ts";
import { bundleFolders } from "./fuzzCase.ts";
import { FuzzRun } from "./runFuzz.ts";

/** OLMV1_TEST_SEED selects other mutations, OLMV1_TEST_FUZZ more of them. */
const SEED = Number(process.env["OLMV1_TEST_SEED"] ?? 1);
const COUNT = Number(process.env["OLMV1_TEST_FUZZ"] ?? 300);
const THREADS = 2;

/** Share of the cases for each target: rendering a catalog blob uses less code. */
const SHARES = { objects: 1, catalog: 1 / 3 } as const;

test.for(["objects", "catalog"] as const)(
  "a broken bundle results in %s or a clear error, without a crash, a hang or an internal message",
  {
    timeout: 3_600_000,
  },
  async (target) => {
    const data = sharedData();
    const count = Math.ceil(COUNT * SHARES[target]);
    const bundles = bundleFolders(data && join(data, "bundles"));
    console.log(`${count} broken bundles (${target}) from ${bundles.length} bundles with seed ${SEED}`);
    const { failures, tried, rendered, slowest } = await new FuzzRun(bundles, SEED, target).run(count, THREADS);
    console.log(`${tried} tried, ${rendered} rendered; slowest: number ${slowest.number}, ${slowest.seconds.toFixed(2)} s of CPU time`);
    expect(failures).toEqual([]);
    expect(tried).toBe(count);
    expect(rendered).toBeGreaterThan(0);
  },
);
