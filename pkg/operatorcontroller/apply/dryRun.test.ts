import { expect, test } from "vitest";
import { formatApiWarnings, sortWarnings } from "./dryRun.ts";

const ref = (name: string) => ({ apiVersion: "apps/v1", kind: "Deployment", namespace: "ns", name });

test("formatApiWarnings formats one text for each warning, regardless of the order of the responses", () => {
  const warnings = sortWarnings(
    new Map([
      ["would violate PodSecurity", [ref("b"), ref("a")]],
      ["is deprecated", [ref("c")]],
    ]),
  );
  expect(formatApiWarnings(warnings, "p.v1.0.0")).toEqual([
    'the API server warns about Deployment ns/c of bundle "p.v1.0.0": is deprecated',
    'the API server warns about Deployment ns/a, Deployment ns/b of bundle "p.v1.0.0": would violate PodSecurity',
  ]);
});

test("formatApiWarnings returns five warnings and the number of remaining warnings", () => {
  const many = sortWarnings(new Map(Array.from({ length: 40 }, (_, i) => [`w${i}`, Array.from({ length: 30 }, (__, j) => ref(`d${j}`))])));
  const texts = formatApiWarnings(many, "p.v1.0.0");
  expect(texts).toHaveLength(6);
  expect(texts.at(-1)).toBe('the API server returned 35 more warnings about bundle "p.v1.0.0"; run olmv1 plan to list them');
  expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(1_024);
});
