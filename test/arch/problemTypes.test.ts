import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PROBLEM_TYPES, type ProblemDescription } from "../../pkg/api/problemTypes.ts";

const ROOT = join(import.meta.dirname, "../..");
const CALL = "expectProblem(";

/** An expected problem type, and whether its details are expected. */
interface Expected {
  readonly type: string;
  readonly hasDetails: boolean;
}

/** Returns the calls of expectProblem in a source, by their second argument. */
function expectedProblems(source: string): Expected[] {
  return source
    .split(CALL)
    .slice(1)
    .flatMap((rest) => {
      const type = /^\s*"(\w+)"/.exec(rest.slice(endOfArgument(rest)))?.[1];
      const [statement = ""] = rest.split(";\n");
      return type === undefined ? [] : [{ type, hasDetails: /\bdetails\b/.test(statement) }];
    });
}

/** Returns the start of the second argument. */
function endOfArgument(text: string): number {
  let depth = 0;
  let quote: string | undefined;
  for (let at = 0; at < text.length && depth >= 0; at++) {
    const character = text.charAt(at);
    if (quote !== undefined) quote = character === quote ? undefined : quote;
    else if (`"'\``.includes(character)) quote = character;
    else if ("([{".includes(character)) depth++;
    else if (")]}".includes(character)) depth--;
    else if (character === "," && depth === 0) return at + 1;
  }
  return text.length;
}

/** Returns the problem types that no source expects, and those whose details no source expects. */
function missingFrom(sources: readonly string[]): string[] {
  const expected = sources.flatMap(expectedProblems);
  return Object.entries<ProblemDescription>(PROBLEM_TYPES).flatMap(([type, { details }]) => {
    const own = expected.filter((one) => one.type === type);
    if (own.length === 0) return [type];
    return details !== undefined && !own.some(({ hasDetails }) => hasDetails) ? [`${type}: details.${details}`] : [];
  });
}

test("integration or e2e tests expect each problem type, and its details if it has any", () => {
  const files = globSync("test/{integration,e2e}/**/*.ts", { cwd: ROOT });
  expect(files.length).toBeGreaterThan(100);
  expect(missingFrom(files.map((file) => readFileSync(join(ROOT, file), "utf8")))).toEqual([]);
});

test("expectedProblems finds every form of the call", () => {
  const source = `
    expectProblem(await world.get("a,b"), "Suspended");
    await world.expectProblem(\`x-\${name(1, 2)}\`, "Unhealthy", { message: /x/ });
    await world.expectProblem(
      name,
      "ObjectConflict",
      { details: [] },
    );
    const expectProblem = (type: ProblemType) => expectProblem(object, type);
    await expectProblem();
  `;
  expect(expectedProblems(source)).toEqual([
    { type: "Suspended", hasDetails: false },
    { type: "Unhealthy", hasDetails: false },
    { type: "ObjectConflict", hasDetails: true },
  ]);
});

test("missingFrom returns problem types that no test expects, or that tests expect only without their details", () => {
  const missing = missingFrom([`expectProblem(x, "Suspended");\nexpectProblem(x, "Unhealthy");\n`]);
  expect(missing).toContain("RolledBack");
  expect(missing).toContain("ObjectConflict");
  expect(missing).not.toContain("Suspended");
});
