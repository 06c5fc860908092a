import { expect, test } from "vitest";
import type { SearchLimit } from "./remedySearch.ts";
import { formatRefusal } from "./resolutionHints.ts";

test.for<[limit: SearchLimit, text: string]>([
  [{ kind: "steps", steps: 300_000 }, "the search exceeded 300000 steps"],
  [{ kind: "reachability", limit: "packages" }, "the dependencies involve more than 500 packages, which is the search limit"],
  [
    { kind: "reachability", limit: "bundles" },
    "the packages that the dependencies involve have more than 20000 bundles, which is the search limit",
  ],
  [
    { kind: "reachability", limit: "comparisons" },
    "the dependencies need more than 1000000 comparisons of bundles with constraints, which is the search limit",
  ],
  [
    { kind: "reachability", limit: "evaluations" },
    "the dependencies need more than 100000 evaluations of CEL rules, which is the search limit",
  ],
])("formatRefusal states the number of limit %j, and what was proven", ([limit, text]) => {
  const conflict = { faults: [], requires: ['package "b" >=2.0.0'], provided: [], dependents: [] };
  const hint = { kind: "undecided" as const, limit, proven: ["b 2.0.0 cannot be chosen"] };
  expect(formatRefusal({ conflict, hint, unavailable: [{ name: "c", unavailable: "it is not served" }] })).toEqual([
    'it requires package "b" >=2.0.0',
    `cannot determine which bundles would satisfy the requirements: ${text}`,
    "b 2.0.0 cannot be chosen",
    'catalog "c" is unavailable (it is not served)',
  ]);
});
