import * as fc from "fast-check";
import { expect, test } from "vitest";
import { toLabelValue } from "./labels.ts";

/** Valid label values. @see k8s.io/apimachinery v0.36.3 pkg/util/validation IsValidLabelValue */
const VALID = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

// Source: D-30; Kubernetes' rules for labels.
test.for<[what: string, text: string, value: string]>([
  ["a package name", "flux-operator", "flux-operator"],
  ["a version", "1.2.3-rc.1", "1.2.3-rc.1"],
  ["nothing", "", ""],
  ["build metadata", "1.2.3+build.5", "1.2.3_build.5"],
  ["a value of 63 characters", "a".repeat(63), "a".repeat(63)],
  ["a value of 64 characters", "a".repeat(64), `${"a".repeat(54)}-ffe054fe`],
  ["a truncation between labels of a name", `${"a".repeat(53)}.${"b".repeat(20)}`, `${"a".repeat(53)}-faf921a0`],
  ["a version that ends in a hyphen", "1.0.0-rc-", "1.0.0-rc-7be816c3"],
  ["characters that are invalid in a label", "größe/✓", "gr-e-3bcb6db3"],
  ["a first character that is invalid in a label", "-a", "a-c2748917"],
  ["no valid character", "✓", "1dabba21"],
])("%s", ([, text, value]) => {
  expect([toLabelValue(text), VALID.test(value)]).toEqual([value, true]);
});

test("toLabelValue returns a valid label value for any text, and different values for different texts", () => {
  const version = fc.tuple(fc.nat(99), fc.stringMatching(/^[0-9A-Za-z.+-]{0,70}$/)).map(([major, rest]) => `${major}.0.0-${rest}`);
  const text = fc.oneof(fc.string({ maxLength: 100 }), fc.string({ unit: "grapheme", maxLength: 100 }), version);
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(toLabelValue(a)).toMatch(VALID);
      if (VALID.test(a)) expect(toLabelValue(a)).toBe(a);
      if (a !== b && VALID.test(a) && VALID.test(b)) expect(toLabelValue(a)).not.toBe(toLabelValue(b));
    }),
  );
});
