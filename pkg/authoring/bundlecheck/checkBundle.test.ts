import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { brokenBundles, brokenFiles, soundBundle } from "../../../test/support/brokenBundles.ts";
import { formatContentPlace } from "../../fbc/types.ts";
import { comparePrinted } from "../../fbc/validate/finding.ts";
import { BUNDLE_RULES, type BundleFinding, checkBundleFiles, formatBundleFinding, RULE_TOPICS } from "./checkBundle.ts";

const cases = brokenBundles();
const matches = (pattern: string, text: string): boolean => new RegExp(pattern).test(text);

function placeOf({ file = "", line }: BundleFinding): string {
  return formatContentPlace({ file, line });
}

describe("checkBundleFiles", () => {
  test.for(cases)("checkBundleFiles: $name", (one) => {
    const { findings } = checkBundleFiles(brokenFiles(one), matches);
    const rules = findings.map(({ rule }) => rule);
    expect(rules, findings.map(formatBundleFinding).join("\n")).toEqual(one.finds.map(({ rule }) => rule));
    one.finds.forEach(({ says, place }, i) => {
      const finding = findings[i];
      if (says !== undefined) expect(finding?.message).toContain(says);
      if (place !== undefined) expect(finding && placeOf(finding)).toBe(place);
    });
  });

  test("at least one test case breaks each bundle rule", () => {
    const broken = new Set(cases.flatMap(({ finds }) => finds.map(({ rule }) => rule)));
    expect(Object.keys(BUNDLE_RULES).filter((rule) => !broken.has(rule))).toEqual([]);
  });

  test("RULE_TOPICS lists every rule once", () => {
    const codes = Object.values(RULE_TOPICS).flatMap((table) => Object.keys(table));
    expect(codes.toSorted()).toEqual(Object.keys(BUNDLE_RULES).toSorted());
  });
});

describe("findings of checkBundleFiles", () => {
  test("checkBundleFiles returns at most 50 findings of a rule, and one finding with the number of omitted findings", () => {
    const modes = Array.from({ length: 60 }, (_, i) => `    - { type: Mode${i}, supported: true }\n`).join("");
    const { findings } = checkBundleFiles(
      brokenFiles({ edit: [["manifests/csv.yaml", "  installModes:\n", `  installModes:\n${modes}`]] }),
    );
    const unknown = findings.filter(({ rule }) => rule === "install-mode-unknown");
    expect(unknown.length).toBe(51);
    expect(unknown.map(({ message }) => message)).toContain("and 10 more of these");
  });

  test("checkBundleFiles returns the same findings for any order of files", () => {
    const broken = brokenFiles({
      edit: [["manifests/crd.yaml", "scope: Namespaced", "scope: x"]],
      files: { "manifests/z.yaml": "kind: [" },
    });
    expect(checkBundleFiles(new Map([...broken].reverse()))).toEqual(checkBundleFiles(broken));
  });

  test("checkBundleFiles returns findings without a line when the manifest file contains a List", () => {
    const list = "kind: List\napiVersion: v1\nitems:\n  - { kind: ConfigMap, apiVersion: v1 }\n  - { kind: ConfigMap, apiVersion: v1 }\n";
    const { findings } = checkBundleFiles(brokenFiles({ files: { "manifests/list.yaml": list } }));
    expect(findings.map(placeOf)).toEqual(["manifests/list.yaml", "manifests/list.yaml"]);
  });

  test("checkBundleFiles returns sorted findings, and does not throw, when any value of a bundle is replaced", { timeout: 60_000 }, () => {
    const texts = soundBundle();
    const value = fc.oneof(
      fc.constantFrom("null", "[]", "{}", "[null]", "[{}]", "0", '"x"'),
      fc.jsonValue().map((json) => JSON.stringify(json)),
    );
    fc.assert(
      fc.property(fc.constantFrom(...texts.keys()), fc.nat(), value, (file, at, replacement) => {
        const lines = (texts.get(file) ?? "").split("\n");
        const mangled = lines.map((line, i) => (i === at % lines.length ? line.replace(/:( .*)?$/, () => `: ${replacement}`) : line));
        const { findings } = checkBundleFiles(brokenFiles({ files: { [file]: mangled.join("\n") } }), matches);
        expect(findings).toEqual(findings.toSorted(comparePrinted));
      }),
      { numRuns: 300 },
    );
  });
});
