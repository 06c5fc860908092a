import { expect, test } from "vitest";
import { brokenFiles } from "../../../test/support/brokenBundles.ts";
import { checkSources } from "./checkBundles.ts";

const ALL = { severity: "info", ignore: [] } as const;
const broken = brokenFiles({
  edit: [
    ["manifests/csv.yaml", "  displayName: Things\n", ""],
    ["manifests/csv.yaml", "  labels: { app: things }\n  maturity", "  maturity"],
    ["manifests/csv.yaml", '"name": "abc"', '"name": "ABC"'],
  ],
});
const reader = {
  files: async (source: string) => {
    if (source === "gone") throw new Error("there is no such image");
    return source === "broken" ? broken : brokenFiles({});
  },
};

test("checkSources reports an unreadable bundle as a finding, and checks the other bundles", async () => {
  expect(await checkSources(["gone", "sound"], ALL, reader)).toEqual([
    { source: "gone", name: "", findings: [{ rule: "unreadable", severity: "error", message: "there is no such image" }] },
    { source: "sound", name: "things.v1.2.3", findings: [] },
  ]);
});

test.for<[what: string, selection: Parameters<typeof checkSources>[1], rules: string[]]>([
  ["all findings, including patterns of schemas, when nothing is filtered", ALL, ["example-valid", "display-name", "labels"]],
  ["no infos when the severity is warning", { severity: "warning", ignore: [] }, ["example-valid", "display-name"]],
  ["no findings of ignored rules", { severity: "info", ignore: ["display-name", "labels"] }, ["example-valid"]],
])("checkSources returns %s", async ([, selection, rules]) => {
  const [checked] = await checkSources(["broken"], selection, reader);
  expect(checked?.findings.map(({ rule }) => rule)).toEqual(rules);
});

test.for([
  ["nonsense", 'unknown rule "nonsense"'],
  ["constructor", 'unknown rule "constructor"'],
  ["unreadable", 'rule "unreadable" cannot be ignored: bundles that break this rule cannot be installed'],
] as const)("checkSources rejects rule %s in ignore", async ([rule, message]) => {
  await expect(checkSources([], { severity: "info", ignore: [rule] }, reader)).rejects.toThrow(message);
});
