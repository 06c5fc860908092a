import { expect, test } from "vitest";
import { contentFrom } from "../../test/support/catalogFixture.ts";
import type { ChannelEntry } from "../fbc/types.ts";
import { listCandidates } from "./candidates.ts";
import { findDestinations, findSuccessorEdges, SearchBudget, type UpgradeGraph } from "./successors.ts";

const INSTALLED = { name: "p.v1.0.0", version: "1.0.0" };

test.for<[length: number, edges: string[]]>([
  [1_024, ["p.v2.0.0"]],
  [1_025, []],
])("findSuccessorEdges ignores a skipRange when it has more than 1,024 characters: %i", ([length, want]) => {
  const skipRange = "<2.0.0".padStart(length);
  const edges = findSuccessorEdges([{ name: "stable", package: "p", entries: [{ name: "p.v2.0.0", skipRange }] }], INSTALLED);
  expect([...edges.keys()]).toEqual(want);
});

/** Creates a graph in which each version replaces the version before. */
function newGraph(entry: Omit<ChannelEntry, "name">): UpgradeGraph {
  const names = ["p.v1.0.0", "p.v2.0.0", "p.v3.0.0"];
  const entries = names.map((name, at) => ({ name, replaces: names[at - 1] ?? "", ...entry }));
  const content = contentFrom({ channels: { stable: entries }, bundles: names }, "p");
  return { catalog: "c", channels: content.channels, candidates: listCandidates(content, new Set()) };
}

test.for<[what: string, entry: Omit<ChannelEntry, "name">]>([
  ["skips", { skips: Array.from({ length: 32 }, (_, at) => `p.v0.${at}.0`) }],
  ["comparisons of skipRange", { skipRange: "<0.1.0".padStart(128) }],
])("findDestinations stops when the %s exceed the budget", ([, entry]) => {
  const find = (comparisons: number): string[] =>
    findDestinations([newGraph(entry)], INSTALLED, new SearchBudget(comparisons)).map(({ candidate }) => candidate.bundle.name);
  expect(find(200)).toEqual(["p.v2.0.0", "p.v3.0.0"]);
  expect(find(98)).toEqual([]);
  expect(find(99)).toEqual(["p.v2.0.0"]);
});
