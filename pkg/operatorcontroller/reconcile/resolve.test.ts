import { expect, test } from "vitest";
import { type ClusterFixture, clusterFrom, contentFrom } from "../../../test/support/catalogFixture.ts";
import { type CatalogState, createCatalog } from "../../../test/support/catalogs.ts";
import { dependencyWorld } from "../../../test/support/dependencyFixture.ts";
import { CannedPackages, ListedCatalogs } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildAuthenticated, problemTexts, runStep, type StepOutcome } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { CatalogSource, ClusterExtension } from "../../api/clusterExtension.ts";
import { getProblems } from "../../errors/errors.ts";
import type { PackageContent } from "../../fbc/types.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { CatalogPackages } from "../catalogs/catalogPackages.ts";
import { findWaitingError } from "../state/conditionPoller.ts";
import type { Resolved } from "../state/phases.ts";
import { resolveBundle } from "./resolve.ts";

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
  /** Content of the package in the catalog. */
  content?: PackageContent | "absent" | "unreadable";
  policy?: "Require" | "Install" | "Ignore";
  cluster?: ClusterFixture;
}

async function pass({ installed, source, catalog, content = CONTENT, policy, cluster }: Given): Promise<StepOutcome<Resolved>> {
  const made = createExtension("x", { packageName: "p", ...source });
  const extension: ClusterExtension = policy ? { ...made, spec: { ...made.spec, dependencies: { policy } } } : made;
  const catalogs = catalog ? [createCatalog("c", catalog)] : [];
  const canned = new Map(
    content === "unreadable" ? [] : [["https://catalogd/catalogs/c", content === "absent" ? undefined : content] as const],
  );
  const step = resolveBundle({
    now: Date.now,
    catalogs: new ListedCatalogs(catalogs),
    contents: new CatalogPackages(new CannedPackages(canned)),
    choice: dependencyWorld().choice,
  });
  return runStep(step, buildAuthenticated(extension, { clusterVersion: clusterFrom(cluster), releases: { installed } }));
}

test("resolveBundle returns the selected bundle with an explanation", async () => {
  const { phase, next, error } = await pass({ installed: INSTALLED, catalog: SERVED });
  expect(error).toBeUndefined();
  expect(next?.bundle).toMatchObject({
    packageName: "p",
    name: "p.v1.1.0",
    version: "1.1.0",
    image: "registry.example/p.v1.1.0",
    catalog: "c",
    edge: "replaces in channel stable",
  });
  expect(next?.bundle.explanation).toContain("p.v1.1.0");
  expect([phase.report.catalogs.deprecation.kind, problemTexts(phase)]).toEqual(["known", []]);
});

test.for([
  ["the release in build metadata", { name: "p.v1.0.0+2" }, { version: "1.0.0+2" }],
  ["a separate release", { name: "p.a", version: "1.0.0", release: "2" }, { version: "1.0.0", release: "2" }],
  ["a separate, empty release", { name: "p.a", version: "1.0.0+git", release: "" }, { version: "1.0.0+git", release: "" }],
] as const)("resolveBundle returns version and release as the bundle has them: %s", async ([, bundle, want]) => {
  const { next } = await pass({ catalog: SERVED, content: contentFrom({ bundles: [bundle] }, "p") });
  const { version, release } = next?.bundle ?? {};
  expect({ version, ...(release === undefined ? {} : { release }) }).toEqual(want);
});

test("resolveBundle returns the installed bundle when no other bundle is better", async () => {
  const newest = { ...INSTALLED, name: "p.v1.1.0", version: "1.1.0" };
  expect((await pass({ installed: newest, catalog: SERVED })).next?.bundle).toMatchObject({ name: "p.v1.1.0", edge: "stay" });
});

/** Failed resolutions, in the order of the rows in upstream's handleResolutionError; the outcome is the start of the error, or KEEPS. */
const KEEPS = "keeps";
const FAILED: [why: string, given: Given, outcome: string][] = [
  ["nothing is installed and there is no catalog", {}, 'no bundles found for package "p"'],
  [
    "nothing is installed and the catalog is not served",
    { catalog: { ...SERVED, serving: false } },
    'error walking catalogs: error getting package "p" from catalog "c": catalog "c" is not being served',
  ],
  [
    "another version is requested and there is no catalog",
    { installed: INSTALLED, source: { version: "1.1.0" } },
    'error upgrading from currently installed version "1.0.0": no bundles found for package "p" matching version "1.1.0"',
  ],
  [
    "the installed version is outside of the range",
    { installed: INSTALLED, source: { version: ">1.0.0" } },
    'error upgrading from currently installed version "1.0.0": no bundles found for package "p" matching version ">1.0.0"',
  ],
  [
    "the installed prerelease is outside of the range",
    { installed: { ...INSTALLED, version: "1.1.0-rc.1" }, source: { version: ">=1.0.0" } },
    'error upgrading from currently installed version "1.1.0-rc.1": no bundles found for package "p" matching version ">=1.0.0"',
  ],
  [
    "the range is malformed",
    { installed: INSTALLED, source: { version: "1.x.y" } },
    'desired version range "1.x.y" is invalid: improper constraint: "1.x.y"',
  ],
  [
    "a matching catalog does not contain the package",
    { installed: INSTALLED, catalog: SERVED, content: "absent" },
    'error upgrading from currently installed version "1.0.0": no bundles found for package "p"',
  ],
  [
    "a matching catalog is disabled",
    { installed: INSTALLED, catalog: { ...SERVED, availabilityMode: "Unavailable" } },
    'error upgrading from currently installed version "1.0.0": no bundles found for package "p"',
  ],
  [
    "nothing is installed and the catalog cannot be read",
    { catalog: SERVED, content: "unreadable" },
    'error walking catalogs: error getting package "p" from catalog "c": error retrieving cache for catalog "c": error performing request: connection refused',
  ],
  [
    "the catalog cannot be read and another version is requested",
    { installed: INSTALLED, source: { version: "1.1.0" }, catalog: SERVED, content: "unreadable" },
    'error walking catalogs: error getting package "p" from catalog "c": error retrieving cache for catalog "c": error performing request: connection refused',
  ],
  [
    "the selector is invalid",
    { installed: INSTALLED, source: { selector: { matchLabels: { "-": "x" } } } },
    "desired catalog selector is invalid: ",
  ],
  ["no catalog exists", { installed: INSTALLED }, KEEPS],
  ["no catalog exists and the installed version is requested", { installed: INSTALLED, source: { version: "1.0.0" } }, KEEPS],
  ["no catalog exists and the installed version is in the range", { installed: INSTALLED, source: { version: ">=1.0, <2" } }, KEEPS],
  [
    "no catalog exists and the installed release is in the range",
    { installed: { ...INSTALLED, version: "1.0.0+2" }, source: { version: "~1.0.0" } },
    KEEPS,
  ],
  ["no catalog exists and the version is empty", { installed: INSTALLED, source: { version: "" } }, KEEPS],
  ["no catalog is selected", { installed: INSTALLED, catalog: SERVED, source: { selector: { matchLabels: { tier: "silver" } } } }, KEEPS],
];

test.for(FAILED.filter(([, , outcome]) => outcome === KEEPS))("resolveBundle keeps the installed bundle when %s", async ([, given]) => {
  const { phase, next, error } = await pass(given);
  expect(error).toBeUndefined();
  expect(next?.bundle).toMatchObject(given.installed ?? {});
  expect(problemTexts(phase)).toEqual(["no ClusterCatalog matches: the controller keeps the installed bundle"]);
  expect(phase.report.catalogs.deprecation).toEqual({ kind: "unknown" });
});

test.for(FAILED.filter(([, , outcome]) => outcome !== KEEPS))(
  "resolveBundle returns a retryable error when %s",
  async ([, given, outcome]) => {
    const { next, error } = await pass(given);
    expect(error).toMatchObject({ retry: true, reason: "Retrying" });
    expect(error?.message.startsWith(outcome)).toBe(true);
    expect(next).toBeUndefined();
  },
);

test("resolveBundle truncates a problem to 2,000 characters and mentions the command that prints the full text", async () => {
  const channels = Array.from({ length: 256 }, (_, i) => `${"c".repeat(200)}${i}`);
  const { error } = await pass({ catalog: SERVED, source: { channels } });
  expect(error?.message.startsWith('no bundles found for package "p" in channels [cc')).toBe(true);
  const [problem] = getProblems(error);
  expect(problem?.message.length).toBe(2_000);
  expect(
    problem?.message.endsWith("(truncated; full text: olmv1 resolve x --explain, or /debug/resolution/x of operator-controller)"),
  ).toBe(true);
});

const NEEDY = contentFrom(
  {
    channels: { stable: ["p.v1.0.0"] },
    bundles: [{ name: "p.v1.0.0", properties: [{ type: "olm.package.required", value: { packageName: "q", versionRange: ">=1.0.0" } }] }],
  },
  "p",
);

test.for([undefined, "Require", "Install"] as const)("resolveBundle waits for missing dependencies under policy %s", async (policy) => {
  const { next, error } = await pass({ catalog: SERVED, content: NEEDY, ...(policy ? { policy } : {}) });
  expect(error).toMatchObject({ reason: "UnsatisfiedDependencies", retry: false });
  expect(error?.message).toContain(
    'bundle "p.v1.0.0" cannot be installed: p 1.0.0 requires package "q" >=1.0.0, which no selected catalog has',
  );
  expect(findWaitingError(error)).toBeDefined();
  expect(next).toBeUndefined();
});

test("resolveBundle accepts missing dependencies under policy Ignore and reports the policy", async () => {
  const { phase, next } = await pass({ catalog: SERVED, content: NEEDY, policy: "Ignore" });
  expect(next?.bundle.name).toBe("p.v1.0.0");
  expect(problemTexts(phase)).toEqual(['the dependencies of bundle "p.v1.0.0" are not checked: spec.dependencies.policy is Ignore']);
});

const LIMITED = contentFrom(
  {
    channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
    bundles: ["p.v1.0.0", { name: "p.v1.1.0", max: "4.17" }],
  },
  "p",
);

test("resolveBundle warns about the cluster's version by default and excludes bundles under Enforce", async () => {
  const given: Given = { installed: INSTALLED, catalog: SERVED, content: LIMITED, cluster: "4.18.2" };
  const warned = await pass(given);
  expect(warned.next?.bundle.name).toBe("p.v1.1.0");
  expect(problemTexts(warned.phase)).toEqual([
    `bundle "p.v1.1.0" may not work on this cluster: its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18`,
  ]);
  const enforced = await pass({ ...given, source: { clusterVersionPolicy: "Enforce" } });
  expect(enforced.next?.bundle).toMatchObject({ name: "p.v1.0.0", edge: "stay" });
  expect(problemTexts(enforced.phase)).toEqual([
    `clusterVersionPolicy Enforce excludes bundle "p.v1.1.0" (its olm.maxOpenShiftVersion 4.17 is below the cluster's 4.18); Warn would allow it`,
  ]);
});

test("resolveBundle reports the content of catalogs when it finds no bundle", async () => {
  const { phase, error } = await pass({ catalog: SERVED, source: { version: ">=9" } });
  expect(error?.message).toContain("no bundles found");
  expect(phase.report.catalogs.packages).toMatchObject([{ name: "c", content: CONTENT }]);
});

test("resolveBundle fails with Blocked when spec.source.catalog is missing", async () => {
  const extension = createExtension("x", { packageName: "p" });
  const bare = { ...extension, spec: { ...extension.spec, source: { sourceType: "Catalog" as const } } };
  const step = resolveBundle({
    now: Date.now,
    catalogs: new ListedCatalogs([]),
    contents: new CatalogPackages(new CannedPackages(new Map())),
    choice: dependencyWorld().choice,
  });
  expect((await runStep(step, buildAuthenticated(bare))).error).toMatchObject({ retry: false, reason: "Blocked" });
});

test("resolveBundle keeps the installed bundle and reports the catalog when the catalog cannot be read", async () => {
  const { phase, next, error } = await pass({ installed: INSTALLED, catalog: SERVED, content: "unreadable" });
  expect(error).toBeUndefined();
  expect(next?.bundle).toMatchObject({ ...INSTALLED });
  expect(problemTexts(phase)).toEqual([
    'catalog "c" is unavailable and may have a better bundle (error retrieving cache for catalog "c": error performing request: connection refused): the controller keeps bundle "p.v1.0.0" until the catalog is available, is deleted, or has a lower spec.priority',
  ]);
});

/**
 * Runs the step with these catalogs and their content of package p. Catalogs without an entry in `packages` cannot be
 * read.
 */
async function passAmong(
  catalogs: readonly ClusterCatalog[],
  packages: CannedPackages,
  { source, from }: { source?: Partial<CatalogSource>; from?: string } = {},
): Promise<StepOutcome<Resolved>> {
  const extension: ClusterExtension = {
    ...createExtension("x", { packageName: "p", ...source }),
    status: { conditions: [], install: { bundle: { name: "p.v1.0.0", version: "1.0.0" }, ...(from ? { catalog: from } : {}) } },
  };
  const step = resolveBundle({
    now: Date.now,
    catalogs: new ListedCatalogs([...catalogs]),
    contents: new CatalogPackages(packages),
    choice: dependencyWorld().choice,
  });
  return runStep(step, buildAuthenticated(extension, { releases: { installed: INSTALLED } }));
}

test("resolveBundle ignores a catalog that is being deleted", async () => {
  const removed = createCatalog("b", { serving: false });
  removed.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  const packages = new CannedPackages(new Map([["https://catalogd/catalogs/c", CONTENT]]));
  const { phase, next, error } = await passAmong([createCatalog("c", SERVED), removed], packages);
  expect(error).toBeUndefined();
  expect([next?.bundle.name, problemTexts(phase)]).toEqual(["p.v1.1.0", []]);
});

test("resolveBundle upgrades from the catalog of the installed bundle when a new catalog is not served yet", async () => {
  const packages = new CannedPackages(new Map([["https://catalogd/catalogs/c", CONTENT]]));
  const catalogs = [createCatalog("b", { serving: false, priority: 5 }), createCatalog("c", SERVED)];
  const { phase, next } = await passAmong(catalogs, packages, { from: "c" });
  expect(next?.bundle).toMatchObject({ name: "p.v1.1.0", catalog: "c" });
  expect(problemTexts(phase)).toEqual([
    'unavailable catalogs: "b" (catalog "b" is not being served; catalogd has not reported its status yet)',
  ]);
});

test("resolveBundle reports an error when the requested channels do not contain the installed bundle", async () => {
  const packages = new CannedPackages(new Map([["https://catalogd/catalogs/c", CONTENT]]));
  const catalogs = [createCatalog("b", { serving: false, priority: 5 }), createCatalog("c", SERVED)];
  expect((await passAmong(catalogs, packages, { source: { channels: ["stable"] } })).error).toBeUndefined();
  expect((await passAmong(catalogs, packages, { source: { channels: ["other"] } })).error).toMatchObject({
    details: { reason: "CatalogUnavailable" },
  });
});

test("resolveBundle returns a check that is true when an unavailable catalog is available again", async () => {
  const answers = new Map<string, PackageContent>();
  const { phase } = await passAmong([createCatalog("c", SERVED)], new CannedPackages(answers));
  expect(await phase.report.awaits?.(AbortSignal.timeout(5_000))).toBe(false);
  answers.set("https://catalogd/catalogs/c", CONTENT);
  expect(await phase.report.awaits?.(AbortSignal.timeout(5_000))).toBe(true);
});

test.for([
  ["a newer bundle", CONTENT],
  ["no bundle", "absent" as const],
] as const)("resolveBundle keeps the pinned bundle when catalogs have %s", async ([, content]) => {
  const extension = createExtension("x", { packageName: "p" });
  const step = resolveBundle({
    now: Date.now,
    catalogs: new ListedCatalogs([createCatalog("c", SERVED)]),
    contents: new CatalogPackages(
      new CannedPackages(new Map([["https://catalogd/catalogs/c", content === "absent" ? undefined : content]])),
    ),
    choice: dependencyWorld().choice,
  });
  const bundle = { ...INSTALLED, explanation: "pinned" };
  const pinned = { revision: 1, release: releaseRecord(1, "deployed"), bundle };
  const { phase, next } = await runStep(step, buildAuthenticated(extension, { releases: { installed: INSTALLED }, pinned }));
  expect([next?.bundle, problemTexts(phase)]).toEqual([bundle, []]);
  expect(phase.report.catalogs.deprecation.kind).toBe(content === "absent" ? "unknown" : "known");
});

test("resolveBundle reports reason and details when dependencies are not satisfied", async () => {
  const { error } = await pass({ catalog: SERVED, content: NEEDY });
  expect(error).toMatchObject({
    reason: "UnsatisfiedDependencies",
    details: { reason: "NoMatchingBundle", excluded: [{ catalog: "c", bundle: "p.v1.0.0", rule: "dependencies" }] },
  });
});
