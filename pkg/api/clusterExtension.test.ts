import { array, assert, constantFrom, property, tuple } from "fast-check";
import { expect, test } from "vitest";
import { CatalogSource } from "./clusterExtension.ts";

/** Returns the pattern that the API server evaluates for versions. */
function readVersionPattern(): RegExp {
  const { "x-kubernetes-validations": rules } = CatalogSource.shape.version.unwrap().meta() as Record<string, { rule: string }[]>;
  const rule = rules?.[0]?.rule ?? "";
  const [, literal = ""] = /^self\.matches\((.*)\)$/.exec(rule) ?? [];
  return new RegExp(JSON.parse(literal) as string);
}

test("CatalogSource accepts the same versions as the pattern of the API server when they have any operators and spaces", () => {
  const pattern = readVersionPattern();
  const space = constantFrom("", "", " ", "  ", "\t");
  const separator = constantFrom("", " ", ",", "||", "|", ",,", " && ");
  const operator = constantFrom("", "", "=", "!=", ">", "<", ">=", "=>", "<=", "=<", "~", "~>", "^", "!", "==");
  const operand = constantFrom(
    "1",
    "0.1",
    "v1.2.3",
    "10.x.X",
    "1.*",
    "1.*]",
    "1.2.*",
    "*",
    "*]",
    "|",
    "1-a.b-c+d.e",
    "1+b",
    "01",
    "1.2.3.4",
    "",
  );
  const part = tuple(space, separator, space, operator, space, operand).map((texts) => texts.join(""));
  const one = tuple(space, operator, space, operand, array(part, { maxLength: 3 }), space, constantFrom("", "", "!"));
  const seen = { valid: 0, invalid: 0 };
  assert(
    property(one, ([before, sign, gap, version, parts, after, end]) => {
      const text = [before, sign, gap, version, ...parts, after, end].join("");
      const accepted = pattern.test(text);
      seen[accepted ? "valid" : "invalid"]++;
      const issues = CatalogSource.shape.version.safeParse(text).error?.issues ?? [];
      expect(!issues.some(({ message }) => message === "invalid version expression"), JSON.stringify(text)).toBe(accepted);
    }),
    { numRuns: 5_000 },
  );
  expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(200);
});
