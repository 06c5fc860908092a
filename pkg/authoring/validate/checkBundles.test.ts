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

test("a bundle that cannot be read is a finding, and the others are checked", async () => {
  expect(await checkSources(["gone", "sound"], ALL, reader)).toEqual([
    { source: "gone", name: "", findings: [{ rule: "unreadable", severity: "error", message: "there is no such image" }] },
    { source: "sound", name: "things.v1.2.3", findings: [] },
  ]);
});

test.for<[what: string, selection: Parameters<typeof checkSources>[1], rules: string[]]>([
  ["everything, patterns of schemas included", ALL, ["example-valid", "display-name", "labels"]],
  ["no remarks", { severity: "warning", ignore: [] }, ["example-valid", "display-name"]],
  ["what is not ignored", { severity: "info", ignore: ["display-name", "labels"] }, ["example-valid"]],
])("tells %s", async ([, selection, rules]) => {
  const [checked] = await checkSources(["broken"], selection, reader);
  expect(checked?.findings.map(({ rule }) => rule)).toEqual(rules);
});

test.for([
  ["nonsense", 'there is no rule "nonsense"'],
  ["constructor", 'there is no rule "constructor"'],
  ["unreadable", 'rule "unreadable" cannot be ignored: a bundle that breaks it cannot be installed'],
] as const)("does not ignore %s", async ([rule, message]) => {
  await expect(checkSources([], { severity: "info", ignore: [rule] }, reader)).rejects.toThrow(message);
});
