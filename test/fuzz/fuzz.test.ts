import { join } from "node:path";
import { expect, test } from "vitest";
import { sharedData } from "../support/sharedDataFolder.ts";
import { bundleFolders } from "./fuzzCase.ts";
import { FuzzRun } from "./runFuzz.ts";

/** Other bundles are broken with OLMV1_TEST_SEED, more of them with OLMV1_TEST_FUZZ. */
const SEED = Number(process.env["OLMV1_TEST_SEED"] ?? 1);
const COUNT = Number(process.env["OLMV1_TEST_FUZZ"] ?? 300);
const THREADS = 2;

test("a broken bundle gives objects or a clear error: no crash, no hang, no message of the program's own", {
  timeout: 3_600_000,
}, async () => {
  const data = sharedData();
  const bundles = bundleFolders(data && join(data, "bundles"));
  console.log(`${COUNT} broken bundles, made of ${bundles.length} with seed ${SEED}`);
  const { failures, tried, rendered, slowest } = await new FuzzRun(bundles, SEED).run(COUNT, THREADS);
  console.log(`${tried} tried, ${rendered} rendered; slowest: number ${slowest.number}, ${slowest.seconds.toFixed(2)} s of processor time`);
  expect(failures).toEqual([]);
  expect(tried).toBe(COUNT);
  expect(rendered).toBeGreaterThan(0);
});
