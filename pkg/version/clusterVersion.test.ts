import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { formatMinorVersion, getNextMinor, isBelow, isNextAllowed, type MinorVersion, parseMinorVersion } from "./clusterVersion.ts";

interface ComparisonCase extends CaseHead {
  clusters?: string[];
  compatible?: Record<string, boolean[]>;
  below?: Record<string, boolean[]>;
  next?: Record<string, string>;
  noVersion?: Record<string, string>;
}

const cases = loadCases<ComparisonCase>("gate");
const version = (text: string): MinorVersion => parseMinorVersion(`${text}.0`);
const anyVersion: fc.Arbitrary<MinorVersion> = fc.record({ major: fc.nat(6), minor: fc.nat(25) });

/** Rows of [maximum, cluster, result]. */
function cells(table: "compatible" | "below"): [string, string, boolean][] {
  return cases.flatMap(({ clusters = [], [table]: rows = {} }) =>
    Object.entries(rows).flatMap(([max, answers]) => answers.map((answer, i): [string, string, boolean] => [max, clusters[i]!, answer])),
  );
}

test.for(cells("compatible"))("isNextAllowed, with a maximum of %s and a cluster of %s, returns %s", ([max, cluster, answer]) => {
  expect(isNextAllowed(version(max), version(cluster))).toBe(answer);
});

test.for(cells("below"))("isBelow, with a maximum of %s and a cluster of %s, returns %s", ([max, cluster, answer]) => {
  expect(isBelow(version(max), version(cluster))).toBe(answer);
});

test.for(cases.flatMap(({ next = {} }) => Object.entries(next)))("getNextMinor of %s is %s", ([cluster, next]) => {
  expect(formatMinorVersion(getNextMinor(parseMinorVersion(cluster)))).toBe(next);
});

test.for(cases.flatMap(({ noVersion = {} }) => Object.entries(noVersion)))("parseMinorVersion rejects %j: %s", ([text, error]) => {
  expect(() => parseMinorVersion(text)).toThrow(new Error(error));
});

describe("laws", () => {
  test("isNextAllowed never becomes false when the maximum increases", () => {
    fc.assert(
      fc.property(anyVersion, anyVersion, anyVersion, (a, b, cluster) => {
        const [less, more] = a.major < b.major || (a.major === b.major && a.minor < b.minor) ? [a, b] : [b, a];
        if (isNextAllowed(less, cluster)) expect(isNextAllowed(more, cluster)).toBe(true);
        if (isBelow(more, cluster)) expect(isBelow(less, cluster)).toBe(true);
      }),
    );
  });

  test("isNextAllowed is true if and only if the maximum is not below the next minor version", () => {
    fc.assert(
      fc.property(fc.record({ major: fc.integer({ min: 4, max: 5 }), minor: fc.nat(26) }), anyVersion, (max, cluster) => {
        expect(isBelow(max, getNextMinor(cluster))).toBe(!isNextAllowed(max, cluster));
      }),
      { numRuns: 2_000 },
    );
  });

  test("isNextAllowed is false when the maximum is below the cluster's version, and true when the maximum is the next minor version", () => {
    fc.assert(
      fc.property(anyVersion, anyVersion, (max, cluster) => {
        if (isBelow(max, cluster)) expect(isNextAllowed(max, cluster)).toBe(false);
        expect(isNextAllowed(getNextMinor(cluster), cluster)).toBe(true);
      }),
    );
  });

  test("parseMinorVersion ignores patch and prerelease", () => {
    fc.assert(
      fc.property(anyVersion, fc.nat(99), fc.constantFrom("", "-rc.1", "-0", "+b", "-ec.2+b"), ({ major, minor }, patch, rest) => {
        expect(parseMinorVersion(`${major}.${minor}.${patch}${rest}`)).toEqual({ major, minor });
      }),
    );
  });
});
