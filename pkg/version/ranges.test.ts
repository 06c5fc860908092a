import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { parseRange } from "./blang.ts";
import { parseConstraint } from "./masterminds.ts";
import { compareVersions, formatVersion, parseVersion } from "./version.ts";

interface RangeCase extends CaseHead {
  dialect: "masterminds" | "blang";
  rows: [range: string, version: string, contained: boolean | null][];
}

const PARSERS = { masterminds: parseConstraint, blang: parseRange };

describe.for(loadCases<RangeCase>("version").filter((c) => c.rows))("$name", ({ dialect, rows }) => {
  const parse = PARSERS[dialect];

  test.for(rows)(`${dialect} %j: %j is %j`, ([range, version, contained]) => {
    if (contained === null) expect(() => parse(range)).toThrow();
    else expect(parse(range).contains(parseVersion(version))).toBe(contained);
  });
});

test.for([
  ["foobar", 'improper constraint: "foobar"'],
  ["1.0.0 || bad || worse", 'improper constraint: " bad "'],
  ["1|2 bad", 'improper constraint: "1|2 bad"'],
  ["1|2", "constraint parser error"],
  ["1".repeat(513), "constraint string is too long (max 512 bytes)"],
  [Array(33).fill("1").join("||"), "too many constraint groups (max 32)"],
  [`1.2.3-${"a".repeat(251)}`, "constraint parser error"],
] as const)("parseConstraint rejects %j with the message of Masterminds", ([range, message]) => {
  expect(() => parseConstraint(range)).toThrow(new Error(message));
});

test.for([
  [">=1.0", 'Could not parse Range ">=1.0": Could not parse version "1.0" in ">=1.0": No Major.Minor.Patch elements found'],
  ["~1.0.0", 'Could not parse Range "~1.0.0": Could not parse comparator "~" in "~1.0.0"'],
  ["<x", 'Could not get version from string: "<x"'],
  ["|| 1.0.0", "First element in range is '||'"],
  ["", "Last element in range is '||'"],
] as const)("parseRange rejects %j with the message of blang", ([range, message]) => {
  expect(() => parseRange(range)).toThrow(new Error(message));
});

test("parseConstraint does not take exponential time when there are many blanks", () => {
  expect(() => parseConstraint(`${"1  ".repeat(150)}!`)).toThrow("improper constraint");
});

const released = fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)).map(([major, minor, patch]) => `${major}.${minor}.${patch}`);
const both = [parseConstraint, parseRange] as const;

test("exactly one of `<v`, `=v` and `>v` contains a release", () => {
  fc.assert(
    fc.property(released, released, fc.constantFrom(...both), (bound, text, parse) => {
      const v = parseVersion(text);
      const holding = ["<", "=", ">"].filter((operator) => parse(`${operator}${bound}`).contains(v));
      expect(holding).toEqual([["<", "=", ">"][Math.sign(compareVersions(v, parseVersion(bound))) + 1]]);
    }),
  );
});

test("parseRange and parseConstraint combine comparisons with AND and OR", () => {
  const comparison = fc.tuple(fc.constantFrom(">=", "<=", ">", "<", "="), released).map(([operator, bound]) => operator + bound);
  fc.assert(
    fc.property(comparison, comparison, released, fc.constantFrom(...both), (a, b, text, parse) => {
      const v = parseVersion(text);
      const [inA, inB] = [parse(a).contains(v), parse(b).contains(v)];
      expect(parse(`${a} ${b}`).contains(v)).toBe(inA && inB);
      expect(parse(`${a} || ${b}`).contains(v)).toBe(inA || inB);
    }),
  );
});

test("parseRange and parseConstraint agree on releases without wildcards", () => {
  const comparison = fc.tuple(fc.constantFrom(">=", "<=", ">", "<", "=", "!=", ""), released).map(([operator, bound]) => operator + bound);
  const range = fc.array(comparison, { minLength: 1, maxLength: 3 }).map((comparisons) => comparisons.join(" "));
  fc.assert(
    fc.property(range, released, (text, candidate) => {
      const v = parseVersion(candidate);
      expect(parseConstraint(text).contains(v), `${text} ${formatVersion(v)}`).toBe(parseRange(text).contains(v));
    }),
  );
});

test("spans returns the indexes of contained versions after few comparisons", () => {
  const texts = ["1.0.0-a", "1.0.0", "1.0.0+b", "1.1.0-0", "1.1.0", "1.2.0", "1.2.3", "2.0.0-rc.1", "2.0.0", "3.0.0"];
  const versions = texts.map((text) => parseVersion(text));
  const bounds = texts.flatMap((text) => ["", "!", ">", ">=", "<", "<="].map((operator) => `${operator}${text}`));
  for (const one of bounds)
    for (const other of bounds)
      for (const text of [`${one} ${other}`, `${one} || ${other}`, `!=1.1.0 ${one} ${other} !=1.2.3`]) {
        const range = parseRange(text);
        const spanned = range.spans(versions).flatMap(([from, to]) => texts.slice(from, to));
        expect([...new Set(spanned)].sort(), text).toEqual(
          texts.filter((_, i) => range.contains(versions[i] ?? parseVersion("9.9.9"))).sort(),
        );
      }
  let reads = 0;
  const many = new Proxy(
    Array.from({ length: 100_000 }, (_, i) => parseVersion(`1.${i}.0`)),
    {
      get: (target, key, receiver) => {
        if (key !== "length") reads++;
        return Reflect.get(target, key, receiver) as unknown;
      },
    },
  );
  expect(parseRange(">=1.5.0 <1.99000.0").spans(many)).toEqual([[5, 99_000]]);
  expect(reads).toBeLessThan(4 * 18);
});
