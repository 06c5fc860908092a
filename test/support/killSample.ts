import { getDaySeed } from "./manyRuns.ts";

/** By default, one of this many kill points is tested in a run. */
const STRIDE = 3;

/** The kill points that a run tests. A kill point is the number of writes before the kill. */
export interface KillSample {
  /** Distance between tested points. */
  readonly stride: number;
  /** Tests the points whose remainder by `stride` is this number. */
  readonly remainder: number;
}

/**
 * Selects the kill points of a run: the first, so that each operation is interrupted, and one of `stride` others. The selection changes each day, or
 * with OLMV1_TEST_SEED. OLMV1_TEST_ALL_KILLS=1 selects all.
 */
export function chooseKillSample(env: NodeJS.ProcessEnv = process.env, stride: number = STRIDE): KillSample {
  if (env["OLMV1_TEST_ALL_KILLS"] === "1") return { stride: 1, remainder: 0 };
  return { stride, remainder: getDaySeed(env) % stride };
}

/** Returns whether a run tests the kill point after this number of writes. */
export function isSampled({ stride, remainder }: KillSample, writes: number): boolean {
  return writes === 0 || writes % stride === remainder;
}

/** Returns the number of tested kill points of an operation with this number of writes. */
export function countSampled(sample: KillSample, writes: number): number {
  return Array.from({ length: writes }, (_, before) => before).filter((before) => isSampled(sample, before)).length;
}

/** Returns a phrase for the output of a test. */
export function formatKillSample({ stride, remainder }: KillSample): string {
  if (stride === 1) return "all kill points";
  return `the first kill point and each with remainder ${remainder} by ${stride}; all with OLMV1_TEST_ALL_KILLS=1`;
}
