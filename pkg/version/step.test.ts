import * as fc from "fast-check";
import semver from "semver";
import { expect, test } from "vitest";
import { getVersionStep } from "./step.ts";
import { compareVersions, parseVersion } from "./version.ts";

test.for<[string, string, ReturnType<typeof getVersionStep>]>([
  ["1.0.0", "1.0.0", "same"],
  ["1.0.0", "1.0.0+build", "same"],
  ["1.0.0", "1.0.1", "patch"],
  ["1.0.0-rc.1", "1.0.0-rc.2", "patch"],
  ["1.0.0", "1.2.0", "minor"],
  ["1.2.3", "1.3.0-rc.1", "minor"],
  ["1.2.3", "2.0.0", "major"],
  ["1.2.3", "2.0.0-alpha", "major"],
  ["2.0.0", "1.9.9", "rollback"],
  ["1.0.0", "1.0.0-rc.1", "rollback"],
  ["1.0", "2.0.0", undefined],
  ["1.0.0", `${2n ** 60n}.0.0`, undefined],
])("getVersionStep from %s to %s is %s", ([from, to, want]) => {
  expect(getVersionStep(from, to)).toBe(want);
});

const number = fc.nat({ max: 30 });
const identifier = fc.oneof(number.map(String), fc.constantFrom("alpha", "beta", "rc", "x-1", "a1"));
const version = fc
  .tuple(number, number, number, fc.array(identifier, { maxLength: 3 }))
  .map(([major, minor, patch, pre]) => `${major}.${minor}.${patch}${pre.length > 0 ? `-${pre.join(".")}` : ""}`);

test("getVersionStep orders versions like npm's semver", () => {
  fc.assert(
    fc.property(version, version, (a, b) => {
      expect(Math.sign(compareVersions(parseVersion(a), parseVersion(b)))).toBe(semver.compare(a, b));
    }),
  );
});
