import { describe, expect, test } from "vitest";
import { createSarifLog, type SarifFinding, toSarifPath } from "./sarif.ts";

const RULES = { "a-rule": { severity: "warning", rule: "It holds." } } as const;
const FINDING: SarifFinding = {
  rule: "a-rule",
  severity: "warning",
  message: "it \u001b[31mdoes not",
  file: "a b/c#.yaml",
  line: 3,
  subject: "x",
};

interface Log {
  version: string;
  runs: {
    tool: { driver: { name: string; rules: { id: string }[] } };
    results: { ruleId: string; ruleIndex: number; locations?: object[] }[];
  }[];
}

describe("createSarifLog", () => {
  test("createSarifLog describes violated rules and the locations of findings", () => {
    expect(createSarifLog([FINDING], RULES)).toEqual({
      $schema: "https://json.schemastore.org/sarif-2.1.0.json",
      version: "2.1.0",
      runs: [
        {
          tool: {
            driver: {
              name: "olmv1",
              semanticVersion: expect.stringMatching(/^\d+\.\d+\.\d+/),
              rules: [{ id: "a-rule", shortDescription: { text: "It holds." }, defaultConfiguration: { level: "warning" } }],
            },
          },
          columnKind: "utf16CodeUnits",
          results: [
            {
              ruleId: "a-rule",
              ruleIndex: 0,
              level: "warning",
              message: { text: "it \\u{1b}[31mdoes not" },
              locations: [
                {
                  physicalLocation: { artifactLocation: { uri: "a%20b/c%23.yaml" }, region: { startLine: 3 } },
                  logicalLocations: [{ fullyQualifiedName: "x" }],
                },
              ],
            },
          ],
        },
      ],
    });
  });

  test("createSarifLog refers each result to its rule, and omits the location of a finding without a file", () => {
    const findings: SarifFinding[] = [FINDING, { rule: "unreadable", severity: "error", message: "no" }, { ...FINDING, severity: "info" }];
    const [run] = (createSarifLog(findings, RULES) as Log).runs;
    expect(run?.results.map(({ ruleId, ruleIndex }) => [ruleId, run.tool.driver.rules[ruleIndex]?.id])).toEqual([
      ["a-rule", "a-rule"],
      ["unreadable", "unreadable"],
      ["a-rule", "a-rule"],
    ]);
    expect(run?.results[1]?.locations).toBeUndefined();
  });

  test("createSarifLog returns an empty list of results when there are no findings", () => {
    expect(createSarifLog([], RULES)).toMatchObject({ version: "2.1.0", runs: [{ results: [] }] });
  });
});

test.for<[string, string, string, string]>([
  ["catalog", "foo/catalog.yaml", "/repo", "catalog/foo/catalog.yaml"],
  ["./catalog/", "foo/catalog.yaml", "/repo", "catalog/foo/catalog.yaml"],
  [".", "catalog.yaml", "/repo", "catalog.yaml"],
  ["/repo/catalog", "a.yaml", "/repo", "catalog/a.yaml"],
  ["/elsewhere/catalog", "a.yaml", "/repo", "a.yaml"],
  ["../catalog", "a.yaml", "/repo/x", "a.yaml"],
])("toSarifPath for folder %s and file %s in working directory %s returns %s", ([folder, file, cwd, want]) => {
  expect(toSarifPath(folder, file, cwd)).toBe(want);
});
