import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { MetaDecoder } from "../decode.ts";
import { formatContentPlace } from "../types.ts";
import { CatalogCheck, type CheckResult } from "./catalogCheck.ts";
import { compareFindings, formatFindingMessage, formatOpmError } from "./finding.ts";
import { RULES } from "./rules.ts";

interface Case extends CaseHead {
  edit?: [from: string, to: string][];
  append?: string;
  files?: Record<string, string>;
  /** Additional bundles of package foo. */
  versions?: string[];
  finds: { rule: string; says?: string; place?: string }[];
  opm?: string;
}

const SOUND = readFileSync(join(import.meta.dirname, "../../../test/cases/fbc-checks/sound/catalog.yaml"), "utf8");
const cases = loadCases<Case>("fbc-checks");

function check(files: Readonly<Record<string, string>>): CheckResult {
  const catalog = new CatalogCheck();
  for (const [path, text] of Object.entries(files)) {
    const decoder = new MetaDecoder(path, { onEmpty: (place) => catalog.addEmpty(place) });
    for (const meta of decoder.push(Buffer.from(text))) catalog.add(meta);
    for (const meta of decoder.end()) catalog.add(meta);
  }
  return catalog.end();
}

function bundle(version: string): string {
  const value = `{packageName: foo, version: ${version}}`;
  return `{schema: olm.bundle, package: foo, name: foo.v${version}, image: quay.io/foo, properties: [{type: olm.package, value: ${value}}]}`;
}

function filesOf({ edit = [], append, files = {}, versions = [] }: Case): Record<string, string> {
  let text = SOUND;
  for (const [from, to] of edit) {
    expect(text.split(from), `occurrences of ${from}`).toHaveLength(2);
    text = text.replace(from, () => to);
  }
  const documents = [text, ...(append === undefined ? [] : [append]), ...versions.map(bundle)];
  return { "catalog.yaml": documents.map((document) => document.trimEnd()).join("\n---\n"), ...files };
}

test.for(cases)("CatalogCheck checks $name", (one) => {
  const { errors, warnings, findings } = check(filesOf(one));
  const got = findings.toSorted(compareFindings);
  expect(got.map(({ rule }) => rule)).toEqual(one.finds.map(({ rule }) => rule));
  one.finds.forEach(({ says, place }, i) => {
    const finding = got[i]!;
    if (says !== undefined) expect(formatFindingMessage(finding)).toBe(says);
    if (place !== undefined) expect(formatContentPlace(finding.place)).toBe(place);
  });
  expect([errors, warnings]).toEqual([
    got.filter(({ severity }) => severity === "error").length,
    got.filter(({ severity }) => severity === "warning").length,
  ]);
  if (one.opm !== undefined) expect(formatOpmError(findings)).toBe(one.opm);
  if (errors === 0) expect(formatOpmError(findings)).toBeUndefined();
});

test("at least one test case breaks each rule", () => {
  const broken = new Set(cases.flatMap(({ finds }) => finds.map(({ rule }) => rule)));
  expect(Object.keys(RULES).filter((rule) => !broken.has(rule))).toEqual([]);
});

describe("limits of CatalogCheck", () => {
  test("CatalogCheck returns at most a thousand findings of each severity, and the number of all findings", () => {
    const { errors, warnings, findings } = check({ "a.yaml": '{"schema":"olm.x","package":""}\n'.repeat(3_000) });
    expect([errors, warnings, findings.length]).toEqual([3_000, 3_000, 2_000]);
  });

  test("CatalogCheck truncates long names in findings", () => {
    const name = "x".repeat(1_000_000);
    const { findings } = check({ "a.yaml": `{"schema":"olm.channel","name":"${name}","package":"${name}"}` });
    expect(findings.map(({ rule }) => rule)).toEqual(["channel-package-unknown"]);
    expect(JSON.stringify(findings).length).toBeLessThan(5_000);
  });

  test("CatalogCheck checks a long channel without recursion in linear time", () => {
    const count = 10_000;
    const entries = Array.from({ length: count }, (_, i) => `{"name":"foo.v0.0.${i}","replaces":"foo.v0.0.${i - 1}"}`);
    const bundles = Array.from(
      { length: count },
      (_, i) =>
        `{"schema":"olm.bundle","package":"foo","name":"foo.v0.0.${i}","image":"q.io/f","properties":[{"type":"olm.package","value":{"packageName":"foo","version":"0.0.${i}"}}]}`,
    );
    const channels = ["alpha", "beta"].map(
      (name) => `{"schema":"olm.channel","package":"foo","name":"${name}","entries":[${entries.join()}]}`,
    );
    const text = ['{"schema":"olm.package","name":"foo","defaultChannel":"alpha"}', ...channels, ...bundles].join("\n");
    expect(check({ "a.json": text })).toEqual({ errors: 0, warnings: 0, findings: [] });
  });
});
