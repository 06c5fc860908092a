import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import {
  compareVersionRelease,
  compareVersions,
  formatVersion,
  formatVersionRelease,
  parseVersion,
  parseVersionRelease,
  type Version,
} from "./version.ts";

interface VersionCase extends CaseHead {
  parse?: [text: string, error: string | null][];
  ascending?: string[];
  releases?: { version: string; release?: string | null; want?: [string, string | null]; text?: string; error?: string }[];
  ascendingReleases?: string[];
}

const identifier = fc.oneof(
  fc.nat(30).map(String),
  fc.constantFrom("18446744073709551615", "9007199254740993"),
  fc.stringMatching(/^[0-9]{0,2}[a-zA-Z-][0-9a-zA-Z-]{0,3}$/),
);
const number = fc.oneof(fc.nat(3), fc.constantFrom(2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 64n - 1n));
const version: fc.Arbitrary<Version> = fc.record({
  major: number,
  minor: number,
  patch: number,
  prerelease: fc.array(identifier, { maxLength: 3 }),
  build: fc.array(fc.stringMatching(/^[0-9a-zA-Z-]{1,3}$/), { maxLength: 2 }),
});
const sign = (n: number): number => Math.sign(n);

const cases = loadCases<VersionCase>("version");

test.for(cases.flatMap((c) => c.parse ?? []))("parseVersion of %j fails with %j (null: succeeds)", ([text, error]) => {
  if (error === null) expect(formatVersion(parseVersion(text))).toBe(text);
  else expect(() => parseVersion(text)).toThrow(new Error(error));
});

test.for(cases.filter((c) => c.ascending))("$name", ({ ascending = [] }) => {
  const parsed = ascending.map(parseVersion);
  for (const [i, a] of parsed.entries()) for (const [j, b] of parsed.entries()) expect(sign(compareVersions(a, b))).toBe(sign(i - j));
});

test.for(cases.flatMap((c) => c.releases ?? []))(
  "parseVersionRelease parses version $version with release $release",
  ({ version, release, want, text, error }) => {
    if (error !== undefined) {
      expect(() => parseVersionRelease(version, release)).toThrow(new Error(error));
      return;
    }
    const got = parseVersionRelease(version, release);
    expect([formatVersion(got.version), got.release?.join(".") ?? null]).toEqual(want);
    expect(formatVersionRelease(got)).toBe(text);
  },
);

test.for(cases.filter((c) => c.ascendingReleases))("$name", ({ ascendingReleases = [] }) => {
  const parsed = ascendingReleases.map((text) => parseVersionRelease(text));
  for (const [i, a] of parsed.entries()) for (const [j, b] of parsed.entries()) expect(sign(compareVersionRelease(a, b))).toBe(sign(i - j));
});

test("formatVersion returns a text that parseVersion parses to the same version", () => {
  fc.assert(
    fc.property(version, (v) => {
      expect(parseVersion(formatVersion(v))).toEqual(v);
    }),
  );
});

test("compareVersions is antisymmetric and ignores build metadata", () => {
  fc.assert(
    fc.property(version, version, (a, b) => {
      expect(compareVersions(a, b) + compareVersions(b, a)).toBe(0);
      expect(compareVersions(a, { ...a, build: b.build })).toBe(0);
    }),
  );
});

test("compareVersions is transitive", () => {
  fc.assert(
    fc.property(version, version, version, (a, b, c) => {
      const [low, middle, high] = [a, b, c].sort(compareVersions) as [Version, Version, Version];
      expect(compareVersions(low, middle)).toBeLessThanOrEqual(0);
      expect(compareVersions(middle, high)).toBeLessThanOrEqual(0);
      expect(compareVersions(low, high)).toBeLessThanOrEqual(0);
    }),
  );
});

test("a legacy version is unchanged after it is formatted and parsed", () => {
  fc.assert(
    fc.property(version, (v) => {
      const once = parseVersionRelease(formatVersion(v));
      expect(parseVersionRelease(formatVersionRelease(once))).toEqual(once);
    }),
  );
});
