import { expect, test } from "vitest";
import { type GroupMember, groupByDependency } from "./conversionGroups.ts";

/** @param text `namespace/package`, then `>key` for each dependency. Each operator provides `crd:PACKAGE`. */
function parse(text: string): GroupMember {
  const [place = "", ...requires] = text.split(">");
  const [namespace = "", packageName = ""] = place.split("/");
  return { packageName, csv: { namespace, name: `${packageName}.v1`, requires, provides: [`crd:${packageName}`] } };
}

test.for<[string, string[], string[]]>([
  ["nothing", [], []],
  ["independent operators alone", ["n/a", "n/b"], ["a", "b"]],
  ["a dependency after its dependent", ["n/a", "n/b>package:a"], ["b a"]],
  ["a chain from its end", ["n/a", "n/b>crd:a", "n/c>crd:b", "n/d"], ["c b a", "d"]],
  ["two dependents of one dependency together", ["n/a", "n/b>crd:a", "n/x", "n/c>package:a"], ["b c a", "x"]],
  ["a dependency in another namespace alone", ["n/a", "m/b>package:a"], ["a", "b"]],
  ["a cycle in the given order", ["n/a>crd:b", "n/b>crd:a", "n/c>crd:a"], ["c a b"]],
  ["an operator that requires its own API alone", ["n/a>crd:a"], ["a"]],
  ["an unknown dependency alone", ["n/a>crd:other", "n/b"], ["a", "b"]],
])("groupByDependency puts %s", ([, given, want]) => {
  const groups = groupByDependency(given.map(parse));
  expect(groups.map((group) => group.map(({ packageName }) => packageName).join(" "))).toEqual(want);
});
