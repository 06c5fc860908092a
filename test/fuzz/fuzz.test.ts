import { join } from "node:path";
import { expect, test } from "vitest";
import { sharedData } from "../support/sharedDataFolder.ts";
import { bundleFolders } from "./fuzzCase.ts";
import { FuzzRun } from "./runFuzz.ts";

/** Other bundles are broken with OLMV1_TEST_SEED, more of them with OLMV1_TEST_FUZZ. */
const SEED = Number(process.env["OLMV1_TEST_SEED"] ?? 1);
const COUNT = Number(process.env["OLMV1_TEST_FUZZ"] ?? 300);
const THREADS = 2;

/** What a catalog has for a bundle is read by fewer parts of the program. */
const SHARES = { objects: 1, catalog: 1 / 3 } as const;

test.for(["objects", "catalog"] as const)(
  "a broken bundle gives what is made of it (%s) or a clear error: no crash, no hang, no message of the program's own",
  {
    timeout: 3_600_000,
  },
  async (target) => {
    const data = sharedData();
    const count = Math.ceil(COUNT * SHARES[target]);
    const bundles = bundleFolders(data && join(data, "bundles"));
    console.log(`${count} broken bundles (${target}), made of ${bundles.length} with seed ${SEED}`);
    const { failures, tried, rendered, slowest } = await new FuzzRun(bundles, SEED, target).run(count, THREADS);
    console.log(
      `${tried} tried, ${rendered} rendered; slowest: number ${slowest.number}, ${slowest.seconds.toFixed(2)} s of processor time`,
    );
    expect(failures).toEqual([]);
    expect(tried).toBe(count);
    expect(rendered).toBeGreaterThan(0);
  },
);
