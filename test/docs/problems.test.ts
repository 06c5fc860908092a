import { expect, test } from "vitest";
import type { Structural } from "../../pkg/api/customResourceDefinitions.ts";
import { commandLineProblem, idleCommandLine, namedCommandProblem } from "./commandLine.ts";
import { ownSchemas } from "./knownNames.ts";
import { pageFrom } from "./page.ts";
import { structuralProblems } from "./structuralProblems.ts";

const SCHEMA = ownSchemas().get("ClusterExtension") as Structural;
const problems = (document: unknown): string[] => structuralProblems(SCHEMA, document, { isPart: true });

// The page checks must find each of these mistakes.
test.each([
  ["list --colour", /unknown option/],
  ["lists", /unknown command/],
  ["why-not", /argument/],
  ["rollback a 1 2", /too many arguments/],
  ["list -o tree", /choices/],
  ["catalog foo", /unknown command/],
])("commandLineProblem rejects olmv1 %s", async (line, problem) => {
  expect(await commandLineProblem(line.split(" "))).toMatch(problem);
});

test.each([
  ["rbac --roles", "rbac has no option --roles"],
  ["catalog foo", "catalog has no command foo"],
  ["catalog template convert", undefined],
  ["rbac … --diff", undefined],
])("namedCommandProblem rejects the name %s", (name, problem) => {
  expect(namedCommandProblem(idleCommandLine(), name.split(" "))).toBe(problem);
});

test.each<[document: unknown, problems: unknown]>([
  [{ spec: { aproval: "Manual" } }, ["spec.aproval is unknown"]],
  [{ spec: { approval: "manual" } }, [expect.stringMatching(/^spec.approval is not one of /)]],
  [{ spec: { suspend: "yes" } }, ["spec.suspend is not of type boolean"]],
  [{ spec: { source: { catalog: { channels: "stable" } } } }, ["spec.source.catalog.channels is not of type array"]],
  [{ spec: { progressDeadlineMinutes: 1 } }, [expect.stringMatching(/is below/)]],
  [{ spec: { config: { inline: { anything: 1 } } } }, []],
])("structuralProblems rejects %j", (document, expected) => {
  expect(problems(document)).toEqual(expected);
});

test("structuralProblems reports missing required members only when isPart is false", () => {
  expect(structuralProblems(SCHEMA, { spec: { namespace: "a" } }, { isPart: false })).toEqual(["spec has no source"]);
  expect(problems({ spec: { namespace: "a" } })).toEqual([]);
});

test("pageFrom returns the code blocks, links, anchors and inline code of a page", () => {
  const text = "# A `b`, [c](d)!\n\nSee [e\nf](g.md#h) and `[no](link)`.\n\n- x\n\n  ```yaml\n  a:\n    b: 1\n  ```\n\n## A\n\n## A\n";
  const { fences, links, anchors, code } = pageFrom("x.md", text);
  expect(fences).toEqual([{ language: "yaml", line: 8, text: "a:\n  b: 1" }]);
  expect(links).toEqual(["d", "g.md#h"]);
  expect([...anchors]).toEqual(["a-b-c", "a", "a-1"]);
  expect(code).toEqual(["b", "[no](link)"]);
});
