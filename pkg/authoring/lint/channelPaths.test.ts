import { expect, test } from "vitest";
import { MetaDecoder } from "../../fbc/decode.ts";
import { CatalogLint } from "./catalogLint.ts";
import { ChannelPaths } from "./channelPaths.ts";
import { LintedCatalog } from "./lintedCatalog.ts";

interface Entry {
  name: string;
  replaces?: string;
  skips?: string[];
  skipRange?: string;
}

function metasOf(entries: readonly Entry[]): Iterable<Parameters<LintedCatalog["add"]>[0]> {
  const decoder = new MetaDecoder("catalog.json");
  const metas = [
    { schema: "olm.package", name: "p", defaultChannel: "c" },
    { schema: "olm.channel", package: "p", name: "c", entries },
  ];
  return [...decoder.push(Buffer.from(metas.map((meta) => JSON.stringify(meta)).join("\n"))), ...decoder.end()];
}

function pathsOf(entries: readonly Entry[]): ChannelPaths {
  const catalog = new LintedCatalog();
  for (const meta of metasOf(entries)) catalog.add(meta);
  const owner = catalog.packages.get("p");
  const [channel] = owner?.channels ?? [];
  if (!owner || !channel) throw new Error("no channel");
  return ChannelPaths.of(channel, owner);
}

/** Returns a channel with one upgrade edge for each pair of entries: the range of each entry contains all lower versions. */
function dense(count: number): Entry[] {
  return Array.from({ length: count }, (_, i) => ({ name: `p.v1.${i}.0`, skipRange: `<1.${i}.0` }));
}

test("ChannelPaths visits each entry once when every range contains all lower versions", () => {
  for (const count of [1_000, 2_000, 20_000]) {
    const paths = pathsOf(dense(count));
    const names = [...paths.entries.keys()];
    expect(paths.leadingTo([`p.v1.${count - 1}.0`], names)?.size).toBe(count);
    expect(paths.steps).toBe(count);
  }
});

test("ChannelPaths stops a search when it has found all sources", () => {
  const paths = pathsOf(dense(1_000));
  expect(paths.leadingTo(["p.v1.999.0"], ["p.v1.0.0"])?.has("p.v1.0.0")).toBe(true);
  expect(paths.steps).toBe(2);
});

test("ChannelPaths follows replaces, skips and skipRange", () => {
  const paths = pathsOf([
    { name: "p.v1.0.0" },
    { name: "p.v1.1.0", replaces: "p.v1.0.0" },
    { name: "odd" },
    { name: "p.v1.2.0", skips: ["odd"], skipRange: ">=1.1.0 <1.2.0" },
    { name: "p.v1.3.0", skipRange: ">=1.0.0 !=1.1.0 !=1.2.0 <1.3.0 || 7.0.0" },
    { name: "p.v2.0.0", skipRange: "no range" },
  ]);
  const from = (...targets: string[]): string[] => [...(paths.leadingTo(targets, paths.entries.keys()) ?? [])].sort();
  expect(from("p.v1.2.0")).toEqual(["odd", "p.v1.0.0", "p.v1.1.0", "p.v1.2.0"]);
  expect(from("p.v1.3.0")).toEqual(["p.v1.0.0", "p.v1.3.0"]);
  expect(from("p.v2.0.0", "p.v1.1.0")).toEqual(["p.v1.0.0", "p.v1.1.0", "p.v2.0.0"]);
});

test("ChannelPaths stops all searches after 2,000,000 steps", () => {
  const paths = pathsOf(dense(1_000));
  let searches = 0;
  while (paths.leadingTo(["p.v1.999.0"], ["none"])) searches++;
  expect(searches).toBe(2_000);
});

test("dead-end messages list at most three channel heads when a channel has many", () => {
  const lint = new CatalogLint();
  const entries = [
    ...Array.from({ length: 2_000 }, (_, i) => ({ name: `p.v1.${i}.0` })),
    { name: "a", replaces: "b" },
    { name: "b", replaces: "a" },
  ];
  for (const meta of metasOf(entries)) lint.add(meta);
  const messages = lint
    .findings()
    .filter(({ rule }) => rule === "dead-end")
    .map(({ message }) => message);
  expect(messages).toHaveLength(2);
  expect(messages[0]).toBe('"a" has no upgrade path to the channel head, "p.v1.0.0", "p.v1.1.0", "p.v1.2.0" and 1997 more');
});
