import { expect, test } from "vitest";
import { type ClusterFixture, clusterFrom, contentFrom } from "../../../test/support/catalogFixture.ts";
import { type CatalogState, catalogNamed } from "../../../test/support/catalogs.ts";
import { CannedPackages, ListedCatalogs, stepContext } from "../../../test/support/extensionFakes.ts";
import { extensionNamed } from "../../../test/support/extensions.ts";
import type { CatalogSource, ClusterExtension } from "../../api/clusterExtension.ts";
import type { PackageContent } from "../../fbc/types.ts";
import { CatalogContents } from "../catalogs/catalogContents.ts";
import { type InstalledBundle, newFacts, type PassFacts } from "../facts.ts";
import { resolveBundle } from "./resolveBundle.ts";

const CONTENT = contentFrom(
  { channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] }, bundles: ["p.v1.0.0", "p.v1.1.0"] },
  "p",
);
const INSTALLED: InstalledBundle = { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: "registry.example/p.v1.0.0" };
const SERVED: CatalogState = { digest: "quay.io/c@sha256:1", labels: { tier: "gold" } };

interface Given {
  installed?: InstalledBundle;
  source?: Partial<CatalogSource>;
  catalog?: CatalogState;
  /** What the catalog says about the package. */
  content?: PackageContent | "absent" | "unreadable";
  policy?: "Require" | "Install" | "Ignore";
  cluster?: ClusterFixture;
}

async function pass({
  installed,
  source,
  catalog,
  content = CONTENT,
  policy,
  cluster,
}: Given): Promise<{ facts: PassFacts; error?: Error }> {
  const made = extensionNamed("x", { packageName: "p", ...source });
  const extension: ClusterExtension = policy ? { ...made, spec: { ...made.spec, dependencies: { policy } } } : made;
  const catalogs = catalog ? [catalogNamed("c", catalog)] : [];
  const canned = new Map(
    content === "unreadable" ? [] : [["https://catalogd/catalogs/c", content === "absent" ? undefined : content] as const],
  );
  const step = resolveBundle(new ListedCatalogs(catalogs), new CatalogContents(new CannedPackages(canned)));
  const facts: PassFacts = { ...newFacts(extension, clusterFrom(cluster)), installed };
  try {
    await step.run(facts, stepContext(extension));
    return { facts };
  } catch (err) {
    return { facts, error: err as Error };
  }
}

test("the bundle that was chosen, and why", async () => {
  const { facts, error } = await pass({ installed: INSTALLED, catalog: SERVED });
  expect(error).toBeUndefined();
  expect(facts.resolved).toMatchObject({
    packageName: "p",
    name: "p.v1.1.0",
    version: "1.1.0",
    image: "registry.example/p.v1.1.0",
    catalog: "c",
    edge: "replaces in channel stable",
  });
  expect(facts.resolved?.explanation).toContain("p.v1.1.0");
  expect([facts.deprecation.kind, facts.notes]).toEqual(["known", []]);
});

test("the installed version stays where nothing is better, and no edge leads to it", async () => {
  const newest = { ...INSTALLED, name: "p.v1.1.0", version: "1.1.0" };
  expect((await pass({ installed: newest, catalog: SERVED })).facts.resolved).toMatchObject({ name: "p.v1.1.0", edge: "stay" });
});

/** What happens when resolution fails, row by row of the table that upstream's handleResolutionError is. */
test.for<[why: string, given: Given, outcome: string]>([
  ["nothing is installed and there is no catalog", {}, 'no bundles found for package "p"'],
  [
    "nothing is installed and the catalog is not served",
    { catalog: { ...SERVED, serving: false } },
    'error walking catalogs: error getting package "p" from catalog "c": catalog "c" is not being served',
  ],
  [
    "another version is wanted and there is no catalog",
    { installed: INSTALLED, source: { version: "1.1.0" } },
    'error upgrading from currently installed version "1.0.0": no bundles found for package "p" matching version "1.1.0"',
  ],
  [
    "a range is wanted that the installed version is in, as text it is another",
    { installed: INSTALLED, source: { version: ">=1.0.0" } },
    'error upgrading from currently installed version "1.0.0": no bundles found for package "p" matching version ">=1.0.0"',
  ],
  [
    "a catalog matches that does not hold the package",
    { installed: INSTALLED, catalog: SERVED, content: "absent" },
    'error upgrading from currently installed version "1.0.0": no bundles found for package "p"',
  ],
  [
    "a catalog matches that is switched off",
    { installed: INSTALLED, catalog: { ...SERVED, availabilityMode: "Unavailable" } },
    'error upgrading from currently installed version "1.0.0": no bundles found for package "p"',
  ],
  [
    "a catalog matches that cannot be read",
    { installed: INSTALLED, catalog: SERVED, content: "unreadable" },
    'error walking catalogs: error getting package "p" from catalog "c": error retrieving cache for catalog "c": error performing request: connection refused',
  ],
  [
    "the selector is invalid, so that no catalog can match",
    { installed: INSTALLED, source: { selector: { matchLabels: { "-": "x" } } } },
    "desired catalog selector is invalid: ",
  ],
  ["no catalog is left", { installed: INSTALLED }, "keeps"],
  ["no catalog is left and the installed version is wanted", { installed: INSTALLED, source: { version: "1.0.0" } }, "keeps"],
  ["an empty version is none", { installed: INSTALLED, source: { version: "" } }, "keeps"],
  [
    "no catalog that is left is selected",
    { installed: INSTALLED, catalog: SERVED, source: { selector: { matchLabels: { tier: "silver" } } } },
    "keeps",
  ],
])("when %s", async ([, given, outcome]) => {
  const { facts, error } = await pass(given);
  if (outcome === "keeps") {
    expect(error).toBeUndefined();
    expect(facts.resolved).toMatchObject(INSTALLED);
    expect(facts.notes).toEqual(["no ClusterCatalog matches: the installed bundle is kept as it is"]);
    expect(facts.deprecation).toEqual({ kind: "unknown" });
    return;
  }
  expect(error).toMatchObject({ retry: true, reason: "Retrying" });
  expect(error?.message.startsWith(outcome)).toBe(true);
  expect(facts.resolved).toBeUndefined();
});

const NEEDY = contentFrom(
  {
    channels: { stable: ["p.v1.0.0"] },
    bundles: [{ name: "p.v1.0.0", properties: [{ type: "olm.package.required", value: { packageName: "q", versionRange: ">=1.0.0" } }] }],
  },
  "p",
);
const REFUSAL =
  'validating bundle "p.v1.0.0": bundle "p.v1.0.0" has a dependency declared via property "olm.package.required" which is currently not supported';

test.for([undefined, "Require", "Install"] as const)(
  "a bundle with dependencies is refused under policy %s, with the way out",
  async (policy) => {
    const { facts, error } = await pass({ catalog: SERVED, content: NEEDY, ...(policy ? { policy } : {}) });
    expect(error?.message).toBe(`${REFUSAL}; set spec.dependencies.policy to Ignore to install without checking dependencies`);
    expect(facts.resolved).toBeUndefined();
    expect(facts.deprecation.kind).toBe("known");
  },
);

test("under policy Ignore it is taken, and the condition says that the policy is in force", async () => {
  const { facts } = await pass({ catalog: SERVED, content: NEEDY, policy: "Ignore" });
  expect(facts.resolved?.name).toBe("p.v1.0.0");
  expect(facts.notes).toEqual(['the dependencies of bundle "p.v1.0.0" are not checked: spec.dependencies.policy is Ignore']);
});

const LIMITED = contentFrom(
  {
    channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
    bundles: ["p.v1.0.0", { name: "p.v1.1.0", max: "4.17" }],
  },
  "p",
);

test("the cluster's version warns under the default policy and decides under Enforce, and the condition says so", async () => {
  const given: Given = { installed: INSTALLED, catalog: SERVED, content: LIMITED, cluster: "4.18.2" };
  const warned = await pass(given);
  expect(warned.facts.resolved?.name).toBe("p.v1.1.0");
  expect(warned.facts.notes).toEqual([
    `bundle "p.v1.1.0" may not work on this cluster: its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18`,
  ]);
  const held = await pass({ ...given, source: { clusterVersionPolicy: "Enforce" } });
  expect(held.facts.resolved).toMatchObject({ name: "p.v1.0.0", edge: "stay" });
  expect(held.facts.notes).toEqual([
    `clusterVersionPolicy Enforce does not move to bundle "p.v1.1.0" (its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18); Warn would`,
  ]);
});

test("what the catalogs said is known to the rest of the pass, also when nothing was found", async () => {
  const { facts, error } = await pass({ catalog: SERVED, source: { version: ">=9" } });
  expect(error?.message).toContain("no bundles found");
  expect(facts.catalogs).toMatchObject([{ name: "c", content: CONTENT }]);
});

test("an extension without a catalog to ask is blocked until it is edited", async () => {
  const extension = extensionNamed("x", { packageName: "p" });
  const bare = { ...extension, spec: { ...extension.spec, source: { sourceType: "Catalog" as const } } };
  const step = resolveBundle(new ListedCatalogs([]), new CatalogContents(new CannedPackages(new Map())));
  await expect(step.run(newFacts(bare), stepContext(bare))).rejects.toMatchObject({ retry: false, reason: "Blocked" });
});
