import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { formatMinorVersion } from "../version/clusterVersion.ts";
import { MAX_OPENSHIFT_VERSION, parseMaxVersion } from "./maxOpenShiftVersion.ts";

interface GrammarCase extends CaseHead {
  values?: { value: string; max?: string; error?: string }[];
}

const type = MAX_OPENSHIFT_VERSION;
const values = loadCases<GrammarCase>("gate").flatMap((c) => c.values ?? []);

test.for(values)("parseMaxVersion parses value $value", ({ value, max, error }) => {
  const found = parseMaxVersion([{ type, value }]);
  if (error !== undefined)
    expect(found).toEqual({ kind: "invalid", errors: [`error converting to semver for version ${value}: ${error}`] });
  else expect(found.kind === "stated" && formatMinorVersion(found.max)).toBe(max);
});

test("parseMaxVersion ignores a property whose type differs in letter case", () => {
  expect(parseMaxVersion([{ type: "olm.maxopenshiftversion", value: "4.18" }])).toEqual({ kind: "none" });
  expect(parseMaxVersion([])).toEqual({ kind: "none" });
});

test("parseMaxVersion rejects a second property, even after an invalid one", () => {
  const twice = `more than one ${type} found in bundle`;
  const good = { type, value: "4.18" };
  expect(parseMaxVersion([good, good, good])).toEqual({ kind: "invalid", errors: [twice] });
  expect(parseMaxVersion([{ type, value: "4" }, good])).toEqual({
    kind: "invalid",
    errors: ['error converting to semver for version 4: invalid semver format "4": expected <major>.<minor>', twice],
  });
});

test("parseMaxVersion rejects a huge value and truncates it in the error", () => {
  const huge = [
    `"${"9".repeat(1_000_000)}.1"`,
    `${"9".repeat(1_000_000)}.1`,
    `"${"v".repeat(1_000_000)}"`,
    `[${"1,".repeat(500_000)}1]`,
    "[".repeat(9_999) + "]".repeat(9_999),
  ];
  for (const value of huge) {
    const found = parseMaxVersion([{ type, value }]);
    expect(found.kind === "invalid" && found.errors.join("").length).toBeLessThan(800);
  }
});

test("parseMaxVersion accepts every version from 1.0 as a number and as a string", () => {
  fc.assert(
    fc.property(fc.bigInt(1n, 2n ** 64n - 1n), fc.bigInt(0n, 2n ** 64n - 1n), (major, minor) => {
      for (const value of [`${major}.${minor}`, `"${major}.${minor}"`]) {
        const found = parseMaxVersion([{ type, value }]);
        expect(found.kind === "stated" && formatMinorVersion(found.max)).toBe(`${major}.${minor}`);
      }
    }),
  );
});
