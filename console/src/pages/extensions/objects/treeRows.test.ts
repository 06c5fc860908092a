import { describe, expect, test } from "vitest";
import type { ObjectTreeNode } from "../../../../../pkg/consoleapi/objects.ts";
import { filterTree, findAncestors, findTreeMove, listTreeRows } from "./treeRows.ts";

function node(id: string, children: ObjectTreeNode[] = [], isFailing = false): ObjectTreeNode {
  return {
    id,
    kind: "object",
    title: "Kind",
    text: id,
    message: "",
    isFailing: isFailing || children.some((one) => one.isFailing),
    children,
  };
}

const TREE = node("root", [node("bad", [node("set", [node("pod", [], true)])]), node("good", [node("leaf")]), node("last")]);
const ids = (toggled: readonly string[] = []): string[] => listTreeRows(TREE, new Set(toggled)).map((row) => row.node.id);

describe("listTreeRows", () => {
  test("expands the root and what does not work", () => {
    expect(ids()).toEqual(["root", "bad", "set", "pod", "good", "last"]);
  });

  test("expands and collapses what the user toggled", () => {
    expect(ids(["good", "set"])).toEqual(["root", "bad", "set", "good", "leaf", "last"]);
    expect(ids(["root"])).toEqual(["root"]);
  });

  test("expands all nodes of a filtered tree except those that the user collapsed", () => {
    expect(listTreeRows(TREE, new Set(["set"]), true).map(({ node: { id } }) => id)).toEqual([
      "root",
      "bad",
      "set",
      "good",
      "leaf",
      "last",
    ]);
  });

  test("returns levels and positions", () => {
    const row = listTreeRows(TREE, new Set()).find((one) => one.node.id === "good");
    expect(row).toMatchObject({ level: 2, position: 2, siblings: 3, isExpanded: false, parent: "root" });
  });
});

test.for([
  ["root", "ArrowDown", { focus: "bad" }],
  ["root", "ArrowUp", undefined],
  ["last", "ArrowDown", undefined],
  ["pod", "Home", { focus: "root" }],
  ["root", "End", { focus: "last" }],
  ["good", "ArrowRight", { toggle: "good" }],
  ["bad", "ArrowRight", { focus: "set" }],
  ["pod", "ArrowRight", undefined],
  ["bad", "ArrowLeft", { toggle: "bad" }],
  ["pod", "ArrowLeft", { focus: "set" }],
  ["good", "ArrowLeft", { focus: "root" }],
  ["good", "x", undefined],
  ["gone", "ArrowDown", undefined],
] as const)("findTreeMove moves from %s with %s", ([current, key, want]) => {
  expect(findTreeMove(listTreeRows(TREE, new Set()), current, key)).toEqual(want);
});

describe("filterTree", () => {
  const list = (text: string, onlyFailing = false): string[] => {
    const found = filterTree(TREE, text, onlyFailing);
    const collect = (one: ObjectTreeNode): string[] => [one.id, ...one.children.flatMap(collect)];
    return found ? collect(found) : [];
  };

  test.for([
    ["", false, ["root", "bad", "set", "pod", "good", "leaf", "last"]],
    ["", true, ["root", "bad", "set", "pod"]],
    ["leaf", false, ["root", "good", "leaf"]],
    ["KIND set", false, ["root", "bad", "set", "pod"]],
    ["pod", true, ["root", "bad", "set", "pod"]],
    ["nothing", false, []],
  ] as const)("keeps the nodes for %j (only failing: %s)", ([text, onlyFailing, want]) => {
    expect(list(text, onlyFailing)).toEqual(want);
  });
});

test("findAncestors returns the nodes above a node", () => {
  expect(findAncestors(TREE, ({ id }) => id === "pod")).toEqual(["root", "bad", "set"]);
  expect(findAncestors(TREE, () => false)).toBeUndefined();
});
