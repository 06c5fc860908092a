import { expect, test } from "vitest";
import { formatJsonPath } from "./jsonPath.ts";

const LIST = {
  kind: "List",
  items: [
    { metadata: { name: "a", labels: { "example.com/x": "one" } }, status: { conditions: [{ type: "Ready", status: "True" }], n: 3 } },
    {
      metadata: { name: "b" },
      status: {
        conditions: [
          { type: "Ready", status: "False" },
          { type: "Installed", status: "True" },
        ],
      },
    },
  ],
};

test.for<[string, string]>([
  ["{.kind}", "List"],
  ["kind: {.kind}!", "kind: List!"],
  ["{$.kind}", "List"],
  ["{.items[*].metadata.name}", "a b"],
  ["{.items[0].metadata}", '{"name":"a","labels":{"example.com/x":"one"}}'],
  ["{.items[-1:].metadata.name}", "b"],
  ["{.items[0].status.n}", "3"],
  ["{.items[0].metadata.labels.example\\.com/x}", "one"],
  ["{.items[0].metadata.labels['example.com/x']}", "one"],
  ['{.items[*].status.conditions[?(@.type=="Ready")].status}', "True False"],
  ['{range .items[*]}{.metadata.name}{"\\t"}{.status.n}{"\\n"}{end}', "a\t3\nb\t\n"],
  ["{range .items[*]}{range .status.conditions[*]}{.type} {end}; {end}", "Ready ; Ready Installed ; "],
  ["{..name}", "a b"],
  ["{.nothing.here}", ""],
  ["{.}", JSON.stringify(LIST)],
  ['{"}"}', "}"],
  ["", ""],
])("formatJsonPath applies %s", ([template, want]) => {
  expect(formatJsonPath(template, LIST)).toBe(want);
});

test.for<[string, RegExp]>([
  ["{.items", /"{" at position 1 is not closed/],
  ["{range .items[*]}{.x}", /{range} without {end}/],
  ["{end}", /{end} without {range}/],
  ["{items}", /"items" is not a path: start with a dot/],
])("formatJsonPath rejects %s", ([template, want]) => {
  expect(() => formatJsonPath(template, LIST)).toThrow(want);
});

test("formatJsonPath prints a bigint like any other number", () => {
  expect(formatJsonPath("{.n}", { n: 7n })).toBe("7");
});

test("formatJsonPath does not run code in a filter", () => {
  expect(() => formatJsonPath("{.items[?(process.exit(3))]}", LIST)).toThrow(/^jsonpath: /);
});
