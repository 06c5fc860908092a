import { describe, expect, test } from "vitest";
import { chooseKillSample, countSampled, formatKillSample, isSampled, type KillSample } from "./killSample.ts";

const sampledBelow = (sample: KillSample, writes: number): number[] =>
  Array.from({ length: writes }, (_, before) => before).filter((before) => isSampled(sample, before));

describe("the kill points of a run", () => {
  test.each<[env: Record<string, string>, points: number[]]>([
    [{ OLMV1_TEST_SEED: "0" }, [0, 3, 6]],
    [{ OLMV1_TEST_SEED: "1" }, [0, 1, 4, 7]],
    [{ OLMV1_TEST_SEED: "2" }, [0, 2, 5]],
    [{ OLMV1_TEST_SEED: "2", OLMV1_TEST_ALL_KILLS: "1" }, [0, 1, 2, 3, 4, 5, 6, 7]],
  ])("are chosen by %o", (env, points) => {
    const sample = chooseKillSample(env);
    expect(sampledBelow(sample, 8)).toEqual(points);
    expect(countSampled(sample, 8)).toBe(points.length);
  });

  test("cover all points in three successive days", () => {
    const days = [0, 1, 2].map((day) => chooseKillSample({ OLMV1_TEST_SEED: String(20_000 + day) }));
    expect(new Set(days.flatMap((sample) => sampledBelow(sample, 30))).size).toBe(30);
  });

  test("contain the first point of each operation without a seed", () => expect(countSampled(chooseKillSample({}), 1)).toBe(1));

  test("are named in the output", () => {
    expect(formatKillSample(chooseKillSample({ OLMV1_TEST_ALL_KILLS: "1" }))).toBe("all kill points");
    expect(formatKillSample({ stride: 3, remainder: 2 })).toContain("remainder 2 by 3");
  });
});
