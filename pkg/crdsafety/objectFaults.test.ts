import { assert, jsonValue, property } from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { findObjectFaults } from "./objectFaults.ts";

interface Case extends CaseHead {
  schema: unknown;
  valid: unknown[];
  invalid: { object: unknown; faults: (string | Record<string, string>)[] }[];
}

const matches = (pattern: string, text: string): boolean => new RegExp(pattern, "u").test(text);

test.for(loadCases<Case>("crd-objects"))("findObjectFaults checks $name", ({ schema, valid, invalid }) => {
  for (const object of valid) expect(findObjectFaults(schema, object, matches)).toEqual([]);
  for (const { object, faults } of invalid) {
    // YAML parses `a: is null` as a map with one member.
    const texts = faults.map((fault) => (typeof fault === "string" ? fault : Object.entries(fault)[0]!.join(": ")));
    expect(findObjectFaults(schema, object, matches)).toEqual(texts);
  }
});

test("findObjectFaults ignores a pattern that cannot be evaluated", () => {
  expect(findObjectFaults({ pattern: "x" }, "y", () => undefined)).toEqual([]);
});

test("findObjectFaults truncates long paths", () => {
  const [fault = ""] = findObjectFaults({ additionalProperties: { type: "string" } }, { ["x".repeat(1_000)]: 1 }, matches);
  expect(fault).toBe(`${"x".repeat(200)}…: is not of type string`);
});

test("findObjectFaults does not throw for any object and schema", () => {
  assert(
    property(jsonValue(), jsonValue(), jsonValue(), (schema, odd, object) => {
      for (const one of [schema, { properties: schema, items: schema, not: schema, enum: [odd] }])
        findObjectFaults(one, object, () => true);
    }),
  );
});
