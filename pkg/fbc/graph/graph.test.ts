import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { toBundleVersion } from "../bundleOrder.ts";
import type { ChannelEntry, FbcChannel } from "../types.ts";
import { type Box, type Lane, layoutChannel } from "./layout.ts";
import { renderMermaid } from "./mermaid.ts";
import { selectAboveMinimum } from "./subgraph.ts";
import { renderSvg } from "./svg.ts";
import { buildUpdateGraph, type GraphSource, listUpdates, renderGraphJson } from "./updateGraph.ts";

interface MermaidCase extends CaseHead {
  options: { v0Semantics?: boolean; minimum?: string };
  sources: {
    package: string;
    channels: Omit<FbcChannel, "package">[];
    versions: Record<string, string>;
    /** Schema and name of deprecation targets. */
    deprecated: [string, string?][];
  }[];
  want: string;
}

function sourceFrom({ package: name, channels, versions, deprecated }: MermaidCase["sources"][number]): GraphSource {
  const entries = deprecated.map(([schema, about]) => ({
    reference: about === undefined ? { schema } : { schema, name: about },
    message: "gone",
  }));
  return {
    package: name,
    channels: channels.map((channel) => ({ ...channel, package: name })),
    versions: new Map(Object.entries(versions).map(([bundle, version]) => [bundle, toBundleVersion(version)])),
    deprecations: [{ package: name, entries }],
  };
}

test.for(loadCases<MermaidCase>("graph-mermaid"))("renderMermaid draws $name", ({ options, sources, want }) => {
  const all = sources.map(sourceFrom);
  const { minimum } = options;
  expect(renderMermaid(minimum === undefined ? all : selectAboveMinimum(all, minimum), options)).toBe(want);
});

function channelOf(entries: ChannelEntry[], more: Partial<GraphSource> = {}): GraphSource {
  const versions = new Map(entries.map(({ name }) => [name, toBundleVersion(name.replace(/^.*v/, ""))]));
  return { package: "p", channels: [{ name: "c", package: "p", entries }], versions, deprecations: [], ...more };
}

test("buildUpdateGraph sorts entries by version, adds replaced bundles that are not entries, and marks heads, deprecations and ranges", () => {
  const graph = buildUpdateGraph(
    channelOf(
      [
        { name: "p.v1.0.0" },
        { name: "p.v1.10.0", replaces: "p.v1.9.0", skips: ["p.v0.9.0", "p.v0.9.0"] },
        { name: "p.v1.9.0", replaces: "p.v1.0.0", skipRange: "<1.9.0" },
      ],
      {
        defaultChannel: "c",
        deprecations: [{ package: "p", entries: [{ reference: { schema: "olm.bundle", name: "p.v1.0.0" }, message: "old" }] }],
      },
    ),
  );
  expect(graph).toEqual({
    package: "p",
    defaultChannel: "c",
    channels: [
      {
        name: "c",
        nodes: [
          { name: "p.v1.10.0", version: "1.10.0", head: true },
          { name: "p.v1.9.0", version: "1.9.0" },
          { name: "p.v1.0.0", version: "1.0.0", deprecated: "old" },
          { name: "p.v0.9.0", absent: true },
        ],
        edges: [
          { from: "p.v1.9.0", to: "p.v1.10.0", type: "replaces" },
          { from: "p.v0.9.0", to: "p.v1.10.0", type: "skips" },
          { from: "p.v1.0.0", to: "p.v1.9.0", type: "replaces" },
        ],
        ranges: [{ to: "p.v1.9.0", range: "<1.9.0", covers: [{ first: 2, last: 2 }] }],
      },
    ],
  });
});

test.for<[string, ChannelEntry[], Parameters<typeof buildUpdateGraph>[1], string]>([
  [
    "entries",
    Array.from({ length: 4 }, (_, i) => ({ name: `p.v${i}.0.0` })),
    { nodes: 3, edges: 9, comparisons: 9, bytes: 9_999 },
    "4 bundles, including replaced and skipped ones, more than the limit of 3",
  ],
  ["updates", [{ name: "a", skips: ["b", "c", "d"] }], { nodes: 9, edges: 2, comparisons: 9, bytes: 9_999 }, "too many upgrade edges"],
  [
    "comparisons",
    [{ name: "a", skipRange: "<1.0.0" }, { name: "b" }],
    { nodes: 9, edges: 9, comparisons: 1, bytes: 9_999 },
    "too many skip ranges",
  ],
])("buildUpdateGraph and renderMermaid reject too many %s", ([, entries, limits, message]) => {
  expect(() => buildUpdateGraph(channelOf(entries), limits)).toThrow(message);
  expect(() => renderMermaid([channelOf(entries)], limits ? { limits } : {})).toThrow(/too many|more than the limit/);
});

test("renderGraphJson returns a text whose size is proportional to the channels, even when ranges allow many upgrades", () => {
  const some = Array.from({ length: 2_000 }, (_, i) => ({ name: `p.v1.${i}.0`, skipRange: `<1.${i}.0 || >1.${i}.0` }));
  const source = { ...channelOf(some.slice(0, 1_000)) };
  const text = renderGraphJson(buildUpdateGraph(source));
  expect(JSON.parse(text)).toEqual(buildUpdateGraph(source));
  expect(text.length).toBeLessThan(5 * JSON.stringify(source.channels).length);
  expect([...listUpdates(buildUpdateGraph(source).channels[0] ?? { name: "", nodes: [], edges: [], ranges: [] }, 1e9)]).toHaveLength(
    999_000,
  );
  expect(() => renderSvg(buildUpdateGraph(source))).toThrow("too many to draw");
});

test.for<[string, (source: GraphSource) => string]>([
  ["JSON", (source) => renderGraphJson(buildUpdateGraph(source), 100_000)],
  ["SVG", (source) => renderSvg(buildUpdateGraph(source), 100_000)],
  ["Mermaid", (source) => renderMermaid([source], { limits: { nodes: 9_999, edges: 9_999, comparisons: 9_999, bytes: 100_000 } })],
])("drawing a graph with long names as %s stops at the size limit", ([, draw]) => {
  const name = "x".repeat(2_000);
  const entries = [{ name, skips: Array.from({ length: 2_000 }, (_, i) => `y${i}`) }];
  expect(() => draw(channelOf(entries))).toThrow("more than 100000 bytes of text");
});

test("buildUpdateGraph adds each part of a long range to the number of comparisons", () => {
  const long = Array.from({ length: 100 }, (_, i) => `=1.0.${i}`).join(" || ");
  const source = channelOf([{ name: "p.v1.0.0", skipRange: long }, { name: "p.v0.9.0" }]);
  const limits = { nodes: 9, edges: 9, comparisons: 20, bytes: 9_999 };
  expect(() => buildUpdateGraph(source, limits)).toThrow("too many skip ranges");
  expect(() => renderMermaid([source], { limits })).toThrow("too many skip ranges");
});

const entry = (names: readonly string[]) =>
  fc.record(
    {
      name: fc.constantFrom(...names),
      replaces: fc.constantFrom(...names, "absent"),
      skips: fc.array(fc.constantFrom(...names, "elsewhere"), { maxLength: 6 }),
      skipRange: fc.constantFrom("<3.0.0", ">=1.0.0 <5.0.0", "nonsense"),
    },
    { requiredKeys: ["name"] },
  );
const NAMES = [...Array.from({ length: 12 }, (_, i) => `p.v${i}.0.0`), 'a <b> & "c"', "長い名前", "x".repeat(200)];
const entries = fc.uniqueArray(entry(NAMES), { selector: ({ name }) => name, maxLength: 15 });

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

test("layoutChannel draws every edge without overlapping boxes and lines for any graph", () => {
  fc.assert(
    fc.property(entries, (some) => {
      const [channel] = buildUpdateGraph(channelOf(some)).channels;
      if (!channel) throw new Error("no channel");
      const { boxes, lanes, width, height } = layoutChannel(channel);
      boxes.forEach((box, i) => boxes.slice(i + 1).forEach((other) => expect(overlap(box, other)).toBe(false)));
      for (const { x, y, width: w, height: h } of boxes) expect(x >= 0 && y >= 0 && x + w <= width && y + h <= height).toBe(true);
      for (const lane of lanes) {
        expect(lane.x > 0 && lane.x < width && boxes.every((box) => lane.x < box.x || lane.x > box.x + box.width)).toBe(true);
        for (const other of lanes) if (other !== lane && other.x === lane.x) expect(touches(lane, other)).toBe(false);
      }
      const drawn = lanes.flatMap(({ type, from, to }) => from.map((box) => `${box.node.name} ${to.node.name} ${type}`));
      expect(drawn.sort()).toEqual(Array.from(listUpdates(channel), ({ from, to, type }) => `${from} ${to} ${type}`).sort());
    }),
  );
});

/** Reports whether two lines in one lane touch. */
function touches(a: Lane, b: Lane): boolean {
  const span = ({ to, from }: Lane): [number, number] => {
    const ends = [to.y + 1, ...from.map(({ y }) => y)];
    return [Math.min(...ends), Math.max(...ends)];
  };
  const [aTop, aBottom] = span(a);
  const [bTop, bBottom] = span(b);
  return aTop <= bBottom && bTop <= aBottom;
}

test("renderSvg returns well-formed XML without scripts for any names", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 5 }), fc.string({ unit: "binary" }), (names, packageName) => {
      const svg = renderSvg(buildUpdateGraph({ ...channelOf(names.map((name, i) => ({ name: `${name}${i}` }))), package: packageName }));
      expect(findXmlError(svg)).toBeUndefined();
      expect(svg).not.toMatch(/<script|\son\w+=|href=|&(?!(?:amp|lt|gt|quot);)/);
    }),
  );
});

/** Returns the first unbalanced tag or invalid character in XML; undefined if there is none. */
function findXmlError(xml: string): string | undefined {
  const open: string[] = [];
  for (const [text, close, name = "", empty] of xml.matchAll(/<(\/?)(\w+)(?:\s[\w:-]+="[^"<]*")*(\/?)>|[^<]+|</g)) {
    if (text === "<") return "an invalid tag";
    if (/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text)) return "an invalid character";
    if (name === "" || empty) continue;
    if (!close) open.push(name);
    else if (open.pop() !== name) return `</${name}>`;
  }
  return open.pop();
}
