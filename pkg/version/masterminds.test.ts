import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseRange } from "./blang.ts";
import { parseConstraint, toMastermindsRange } from "./masterminds.ts";
import { parseVersion } from "./version.ts";

// Source: X-06, S2-39.
test.for([
  ["1.2.3", "1.2.3"],
  ["==1.2.3", "=1.2.3"],
  ["> 1.0.0 !1.2.1", ">1.0.0, !=1.2.1"],
  [">=1.0.0 <2.0.0", ">=1.0.0, <2.0.0"],
  ["<1.0.0 || >=2.0.0 <3.0.0", "<1.0.0 || >=2.0.0, <3.0.0"],
  [">=1.0.0-alpha.1", ">=1.0.0-alpha.1"],
  ["1.x", undefined],
  [">=1.0", undefined],
  ["", undefined],
] as const)("toMastermindsRange of %j is %j", ([range, want]) => {
  expect(toMastermindsRange(range)).toBe(want);
});

test("toMastermindsRange returns a range that contains the same releases as the original range", () => {
  const version = fc.tuple(...Array.from({ length: 3 }, () => fc.nat({ max: 3 }))).map((parts) => parts.join("."));
  const comparison = fc.tuple(fc.constantFrom("", "=", "==", "!", "!=", ">", ">=", "<", "<="), version).map((parts) => parts.join(""));
  const group = fc.array(comparison, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(" "));
  const range = fc.array(group, { minLength: 1, maxLength: 3 }).map((groups) => groups.join(" || "));
  fc.assert(
    fc.property(range, version, (text, one) => {
      const converted = toMastermindsRange(text);
      expect(parseConstraint(converted ?? "").contains(parseVersion(one))).toBe(parseRange(text).contains(parseVersion(one)));
    }),
  );
});
