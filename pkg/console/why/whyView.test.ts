import { expect, test } from "vitest";
import { type CatalogFixture, catalogsFrom } from "../../../test/support/catalogFixture.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import type { CatalogSource } from "../../api/clusterExtension.ts";
import { findPackage } from "../../browse/findPackage.ts";
import type { PackageInCatalog } from "../../browse/packageView.ts";
import type { Why } from "../../consoleapi/why.ts";
import { toMeta } from "../../fbc/content.ts";
import { recordResolution } from "../../resolve/resolutionRecord.ts";
import { resolve } from "../../resolve/resolve.ts";
import type { OpenCatalog } from "../../sources/openCatalogs.ts";
import { tryLimits } from "./sourceLimits.ts";
import { buildWhy } from "./whyView.ts";

const STABLE: CatalogFixture = {
  defaultChannel: "stable",
  channels: {
    stable: [
      "p.v1.0.0",
      { name: "p.v1.1.0", replaces: "p.v1.0.0" },
      { name: "p.v1.2.0", replaces: "p.v1.1.0", skipRange: ">=1.1.0 <1.2.0" },
      { name: "p.v2.0.0", replaces: "p.v1.2.0", skips: ["p.v1.9.0"] },
    ],
    next: ["p.v3.0.0"],
  },
  bundles: ["p.v1.0.0", "p.v1.1.0", "p.v1.2.0", "p.v2.0.0", "p.v3.0.0"],
};

interface World {
  readonly catalogs?: Record<string, CatalogFixture>;
  readonly source?: Partial<CatalogSource>;
  readonly installed?: string;
  readonly tried?: Parameters<typeof tryLimits>[1];
}

/** Returns the catalogs of fixtures as the console opens them. */
async function openFixtures(catalogs: ReturnType<typeof catalogsFrom>): Promise<readonly PackageInCatalog[]> {
  const open = catalogs.flatMap(({ name, priority, content }) => {
    if (!content) return [];
    const { package: head, channels, bundles, deprecations } = content;
    const metas = [
      toMeta({ schema: "olm.package", ...head }),
      ...channels.map((channel) => toMeta({ schema: "olm.channel", ...channel })),
      ...bundles.map((bundle) => toMeta({ schema: "olm.bundle", ...bundle })),
      ...deprecations.map((one) => toMeta({ schema: "olm.deprecations", ...one })),
    ];
    const book = { metasOf: () => Promise.resolve(metas), names: () => ["p"] } as unknown as OpenCatalog["book"];
    return [{ name, priority, book }];
  });
  return open.length === 0 ? [] : findPackage("p", { catalogs: open });
}

async function explain({ catalogs = { main: STABLE }, source = {}, installed, tried = {} }: World): Promise<Why> {
  const extension = createExtension("x", { packageName: "p", ...source });
  if (installed !== undefined) extension.status = { install: { bundle: { name: `p.v${installed}`, version: installed } } };
  const changed = tryLimits(extension, tried);
  const labeled = catalogsFrom(catalogs, "p");
  const wanted = changed.spec.source.catalog ?? { packageName: "p" };
  const resolution = resolve({ source: wanted, catalogs: labeled, installed: extension.status?.install?.bundle });
  const answer = { resolution, record: recordResolution("p", resolution), similarPackages: [] };
  return buildWhy({ extension, tried: changed, answer, found: await openFixtures(labeled), unread: [] });
}

const lineOf = ({ versions }: Why): string[] => versions.map(({ version, label }) => `${version}: ${label.text}`);

test.for<[string, World, string, string[], string | undefined]>([
  [
    "nothing is installed",
    {},
    "Version 3.0.0 of catalog main is chosen.",
    ["3.0.0: Chosen", "2.0.0: Allowed", "1.2.0: Allowed", "1.1.0: Allowed", "1.0.0: Allowed"],
    "p.v3.0.0",
  ],
  [
    "an upgrade edge exists",
    { installed: "1.1.0" },
    "Version 1.2.0 of catalog main is chosen, by replaces in channel stable.",
    ["3.0.0: Blocked: Upgrade path", "2.0.0: Later", "1.2.0: Chosen", "1.1.0: Installed", "1.0.0: Older"],
    "p.v3.0.0",
  ],
  [
    "the range excludes all newer versions",
    { installed: "1.1.0", source: { version: "1.1.0" } },
    "Version 1.1.0 stays installed.",
    [
      "3.0.0: Blocked: Version range",
      "2.0.0: Blocked: Version range",
      "1.2.0: Blocked: Version range",
      "1.1.0: Installed, stays",
      "1.0.0: Older",
    ],
    "p.v3.0.0",
  ],
  [
    "channels exclude versions",
    { source: { channels: ["stable"] } },
    "Version 2.0.0 of catalog main is chosen.",
    ["3.0.0: Blocked: Channel", "2.0.0: Chosen", "1.2.0: Allowed", "1.1.0: Allowed", "1.0.0: Allowed"],
    "p.v3.0.0",
  ],
  [
    "the range is invalid",
    { source: { version: "a" } },
    "",
    ["3.0.0: Not considered", "2.0.0: Not considered", "1.2.0: Not considered", "1.1.0: Not considered", "1.0.0: Not considered"],
    "p.v3.0.0",
  ],
  [
    "catalogs with the same priority offer a version",
    { catalogs: { a: { bundles: ["p.v1.0.0"] }, b: { bundles: ["p.v1.0.0"] } } },
    "",
    ["1.0.0: Blocked: Equal catalogs", "1.0.0: Blocked: Equal catalogs"],
    "p.v1.0.0",
  ],
  ["no catalog contains the package", { catalogs: { main: {} } }, "No version can be chosen.", [], undefined],
])("buildWhy says what resolution makes of each version when %s", async ([, world, title, versions, first]) => {
  const why = await explain(world);
  expect(lineOf(why)).toEqual(versions);
  if (title !== "") expect(why.outcome.title).toBe(title);
  expect(why.first?.bundle).toBe(first);
});

test("buildWhy describes rules, upgrade paths, and limits that would select a version", async () => {
  const why = await explain({ installed: "1.1.0", source: { channels: ["stable"] } });
  const [newest, later, chosen] = why.versions;
  expect(newest?.rules.map(({ title, text }) => `${title}: ${text}`)).toEqual([
    "Channel: It is not in spec.source.catalog.channels [stable].",
    'Upgrade path: It has no upgrade edge from "p.v1.1.0" in channels [stable].',
  ]);
  expect(newest?.attempt).toEqual({ range: "3.0.0", channels: ["stable", "next"], policy: "SelfCertified" });
  expect(later).toMatchObject({ state: "later", path: ["1.2.0"], reason: "It is reached by upgrades to 1.2.0, then to it." });
  expect(chosen).toMatchObject({ state: "chosen", path: [], reason: "The upgrade from 1.1.0 goes to it, by replaces in channel stable." });
  expect(chosen?.attempt).toBeUndefined();
});

test("buildWhy draws each channel with its versions, and says where the installed version is", async () => {
  const { channels, firstChannel } = await explain({ installed: "1.1.0" });
  expect(channels.map(({ name, isDefault, isRequested, hint }) => ({ name, isDefault, isRequested, hint }))).toEqual([
    { name: "stable", isDefault: true, isRequested: true, hint: undefined },
    { name: "next", isDefault: false, isRequested: true, hint: "The installed version 1.1.0 is not in this channel: it is in stable." },
  ]);
  expect(firstChannel).toBe(1);
  const [stable] = channels;
  expect(stable?.nodes.map(({ label, isAbsent }) => `${label}${isAbsent ? " (absent)" : ""}`)).toEqual([
    "2.0.0 · Later",
    "1.2.0 · Chosen",
    "1.1.0 · Installed",
    "1.0.0 · Older",
    "p.v1.9.0 · not in this channel (absent)",
  ]);
  expect(stable?.main?.lanes.map(({ type, to, from }) => `${type} ${from.join()} -> ${to}`).sort()).toEqual([
    "replaces 1 -> 0",
    "replaces 2 -> 1",
    "replaces 3 -> 2",
    "skipRange 2 -> 1",
    "skips 4 -> 0",
  ]);
});

test.for<[string, World["tried"], Record<string, unknown>, string]>([
  ["another range", { range: "~1.2" }, { version: "~1.2" }, "olmv1 upgrade x --version '~1.2'"],
  ["no range", { range: "" }, { version: null }, "olmv1 upgrade x --any-version"],
  ["other channels", { channels: "next, beta" }, { channels: ["next", "beta"] }, "olmv1 upgrade x --channel next --channel beta"],
  [
    "another policy",
    { policy: "SelfCertified" },
    { upgradeConstraintPolicy: "SelfCertified" },
    `kubectl patch clusterextension x --type merge --patch '{"spec":{"source":{"catalog":{"upgradeConstraintPolicy":"SelfCertified"}}}}'`,
  ],
])("buildWhy describes the change to %s", async ([, tried, patch, command]) => {
  const { change, limits, current } = await explain({ source: { version: "1.x" }, tried: tried ?? {} });
  expect(JSON.parse(change.patch)).toEqual({ spec: { source: { catalog: patch } } });
  expect(change).toMatchObject({ isChanged: true, command });
  expect(current).toEqual({ range: "1.x", channels: [], policy: "CatalogProvided" });
  expect(limits).not.toEqual(current);
});

test("buildWhy reports no change when the limits are those of the extension", async () => {
  const { change } = await explain({ source: { version: "1.x" }, tried: { range: "1.x", channels: "", policy: "CatalogProvided" } });
  expect(change.isChanged).toBe(false);
});

test("buildWhy bounds the versions of a large package, and keeps the installed one", async () => {
  const names = Array.from({ length: 1_200 }, (_, i) => `p.v1.${i}.0`);
  const why = await explain({ catalogs: { main: { channels: { stable: names }, bundles: names } }, installed: "1.3.0" });
  expect(why.versions).toHaveLength(999);
  expect(why.omittedVersions).toBe(201);
  expect(why.versions.at(-1)).toMatchObject({ version: "1.3.0", isInstalled: true });
});
