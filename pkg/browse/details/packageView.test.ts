import { expect, test } from "vitest";
import { toMeta } from "../../fbc/content.ts";
import { PackageData } from "../../fbc/summary/packageData.ts";
import { VersionSummaries } from "./packageView.ts";

const BUNDLES = ["p.v1", "p.v2", "p.v3", "p.v4"];

function collect(): PackageData {
  const facts = new PackageData("p");
  const deprecate = (schema: string, name: string, message: string) => ({ reference: { schema, name }, message });
  const entries = [
    deprecate("olm.channel", "old", "old is over"),
    deprecate("olm.channel", "old", "ignored"),
    deprecate("olm.channel", "older", ""),
    deprecate("olm.bundle", "p.v2", "p.v2 is broken"),
  ];
  const channel = (name: string, ...names: string[]) =>
    toMeta({ schema: "olm.channel", package: "p", name, entries: names.map((entry) => ({ name: entry })) });
  const metas = [
    ...BUNDLES.map((name) => toMeta({ schema: "olm.bundle", package: "p", name })),
    channel("older", "p.v1", "p.v1"),
    channel("old", "p.v1", "p.v2"),
    channel("new", "p.v2", "p.v3"),
    toMeta({ schema: "olm.deprecations", package: "p", entries }),
  ];
  for (const meta of metas) facts.add(meta, Buffer.alloc(32));
  return facts;
}

function summarizeAll(facts: PackageData, channels: readonly string[] = []) {
  const summaries = new VersionSummaries({ catalog: "c", facts }, { channels });
  return facts.bundles.map((bundle) => summaries.summarize(bundle));
}

test("VersionSummaries lists channels, heads and deprecations when bundles are in several channels or in none", () => {
  expect(summarizeAll(collect())).toMatchObject([
    { bundle: "p.v1", channels: ["older", "old"], headOf: ["older", "old"], deprecated: "deprecated" },
    { bundle: "p.v2", channels: ["old", "new"], headOf: ["old", "new"], deprecated: "p.v2 is broken" },
    { bundle: "p.v3", channels: ["new"], headOf: ["new"], deprecated: undefined },
    { bundle: "p.v4", channels: [], headOf: [], deprecated: undefined },
  ]);
  expect(summarizeAll(collect(), ["old"]).map(({ channels }) => channels)).toEqual([["old"], ["old"], [], []]);
});

test("VersionSummaries reads each channel and the deprecations once when it summarizes several bundles", () => {
  const facts = collect();
  let reads = 0;
  for (const [at, channel] of facts.channels.entries())
    facts.channels[at] = {
      ...channel,
      get entries() {
        reads++;
        return channel.entries;
      },
    };
  expect(summarizeAll(facts)).toHaveLength(BUNDLES.length);
  expect(reads).toBe(facts.channels.length);
});
