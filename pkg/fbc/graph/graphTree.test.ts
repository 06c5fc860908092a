import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toBundleVersion } from "../bundleOrder.ts";
import type { ChannelEntry } from "../types.ts";
import { renderDot } from "./dot.ts";
import { buildGraphTree } from "./graphTree.ts";
import { renderMermaid } from "./mermaid.ts";
import { selectReachable } from "./subgraph.ts";
import { renderSvg } from "./svg.ts";
import { buildUpdateGraph, type GraphSource, listUpdates } from "./updateGraph.ts";

function sourceOf(entries: ChannelEntry[], more: Partial<GraphSource> = {}): GraphSource {
  const versions = new Map(entries.map(({ name }) => [name, toBundleVersion(name.replace(/^.*v/, ""))]));
  return { package: "p", defaultChannel: "c", channels: [{ name: "c", package: "p", entries }], versions, deprecations: [], ...more };
}

const shown = (source: GraphSource): string[] =>
  buildGraphTree(buildUpdateGraph(source)).map(({ drawing, text, marks }) =>
    [drawing + text, ...marks.map((mark) => mark.text)].join(" | "),
  );

// Source: S4-09, S4-12, S4-17, S4-19.
describe("buildGraphTree", () => {
  test("buildGraphTree draws the replaces chain from the head with skipped bundles as branches", () => {
    const entries = [
      { name: "p.v1.0.0" },
      { name: "p.v1.1.0", replaces: "p.v1.0.0" },
      { name: "p.v1.1.1", replaces: "p.v1.0.0", skips: ["p.v1.1.0"] },
      { name: "p.v2.0.0", replaces: "p.v1.1.1", skips: ["p.v1.0.0"], skipRange: ">=1.0.0 <2.0.0" },
    ];
    const deprecations = [{ package: "p", entries: [{ reference: { schema: "olm.bundle", name: "p.v1.1.0" }, message: "it\nleaks" }] }];
    expect(shown(sourceOf(entries, { deprecations, installed: new Map([["p.v1.0.0", ["x", "y"]]]) }))).toEqual([
      "p",
      "channel c | default, 4 entries",
      "● 2.0.0 | head",
      "│  skipRange >=1.0.0 <2.0.0: 1.1.1, 1.1.0, 1.0.0",
      "│  skips 1.0.0",
      "● 1.1.1",
      "├─○ 1.1.0 | skipped | deprecated: it leaks",
      "● 1.0.0 | installed by x, y | skipped",
    ]);
  });

  test("buildGraphTree draws several heads and names that are not entries", () => {
    const entries = [
      { name: "p.v2.0.0", replaces: "p.v1.0.0" },
      { name: "p.v1.5.0", replaces: "p.v1.0.0", skips: ["p.v1.4.0"] },
    ];
    expect(shown(sourceOf(entries)).slice(2)).toEqual([
      "● 2.0.0 | head",
      "◌ p.v1.0.0 | not in this channel",
      "● 1.5.0 | head",
      "╰─○ p.v1.4.0 | skipped | not in this channel",
      "╰╴ replaces p.v1.0.0, which is shown above",
    ]);
  });
});

const NAMES = [...Array.from({ length: 12 }, (_, i) => `p.v${i}.0.0`), 'a "b" \\ c', "長い"];
const entry = fc.record(
  {
    name: fc.constantFrom(...NAMES),
    replaces: fc.constantFrom(...NAMES, "absent"),
    skips: fc.array(fc.constantFrom(...NAMES, "elsewhere"), { maxLength: 6 }),
    skipRange: fc.constantFrom("<3.0.0", ">=1.0.0 <5.0.0", "nonsense"),
  },
  { requiredKeys: ["name"] },
);
const entries = fc.uniqueArray(entry, { selector: ({ name }) => name, maxLength: 15 });

test("buildGraphTree draws each bundle once for any graph, including cycles", () => {
  fc.assert(
    fc.property(entries, (some) => {
      const graph = buildUpdateGraph(sourceOf(some));
      const bundles = buildGraphTree(graph).filter(({ kind }) => kind === "bundle");
      const names = graph.channels[0]?.nodes.map(({ name, version }) => version ?? name) ?? [];
      expect(bundles.map(({ text }) => text).toSorted()).toEqual(names.toSorted());
    }),
  );
});

test("selectReachable keeps exactly the bundles that a version can be upgraded to for any graph", () => {
  fc.assert(
    fc.property(entries, fc.constantFrom(...NAMES), (some, start) => {
      const whole = buildUpdateGraph(sourceOf(some)).channels[0];
      const edges = whole ? [...listUpdates(whole)] : [];
      const reached = new Set([start]);
      for (const one of reached) for (const { from, to } of edges) if (from === one) reached.add(to);
      const [channel] = buildUpdateGraph(selectReachable(sourceOf(some), start)).channels;
      const isThere = some.some(({ name }) => name === start);
      const kept = channel?.nodes.map(({ name }) => name) ?? [];
      // A name that is not an entry is removed if no remaining entry replaces or skips it.
      expect(kept.toSorted()).toEqual([...reached].filter((name) => name !== start || isThere || kept.includes(name)).toSorted());
      expect(kept.includes(start)).toBe(isThere || reached.size > 1);
      const shownEdges = (some: typeof edges): string[] => some.map(({ from, to, type }) => `${from} ${to} ${type}`).toSorted();
      // All edges between the kept bundles remain, except edges to the start.
      expect(shownEdges(channel ? [...listUpdates(channel)] : [])).toEqual(
        shownEdges(edges.filter(({ from, to }) => reached.has(from) && reached.has(to) && to !== start)),
      );
    }),
  );
});

test("renderDot escapes all texts of a catalog", () => {
  const string = /"(?:[^"\\]|\\.)*"/g;
  const names = fc.array(fc.string({ unit: "binary", minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(names, fc.string(), (some, name) => {
      const graph = buildUpdateGraph({ ...sourceOf(some.map((one, i) => ({ name: `${one}${i}` }))), package: `${name}p` });
      const lines = renderDot(graph).trimEnd().split("\n");
      const rest = lines.map((line) => line.replaceAll(string, "S")).join("\n");
      expect(rest).toMatch(/^digraph S \{\n(?: {2}[\w [\]=;{]*S?[\w [\]=;{]*\n| {2,4}(?:S(?: -> S)? ?)?[^"]*\n)*\}$/);
      expect(rest).not.toContain('"');
    }),
  );
});

test("all drawings mark installed and skipped bundles", () => {
  const source = sourceOf([{ name: "p.v2.0.0", skips: ["p.v1.0.0"] }, { name: "p.v1.0.0" }], {
    installed: new Map([["p.v1.0.0", ["mine"]]]),
  });
  const graph = buildUpdateGraph(source);
  expect(renderSvg(graph)).toMatch(/class="box installed"[^>]*>\s*<text[^>]*>p\.v1\.0\.0 · installed, skipped</);
  expect(renderSvg(graph)).toContain("installed mine");
  expect(renderDot(graph)).toContain('"c/p.v1.0.0" [label="p.v1.0.0\\ninstalled, skipped" fillcolor=lightblue];');
  expect(renderMermaid([source], { marks: true })).toContain("class p-c-p.v1.0.0 installed\n");
  expect(renderMermaid([source], { marks: true })).toContain("class p-c-p.v2.0.0 head\n");
  expect(renderMermaid([source])).not.toContain("installed");
});

test("all drawings support a channel with thousands of entries", () => {
  const many = Array.from({ length: 4_000 }, (_, i) => ({ name: `p.v1.${i}.0`, ...(i > 0 ? { replaces: `p.v1.${i - 1}.0` } : {}) }));
  const graph = buildUpdateGraph(sourceOf(many));
  expect(buildGraphTree(graph)).toHaveLength(4_002);
  expect(renderDot(graph).split("\n").length).toBeGreaterThan(8_000);
  expect(renderSvg(graph).length).toBeGreaterThan(400_000);
});
