import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import type { ClusterCapabilities } from "../../browse/clusterCapabilities.ts";
import type { SignatureDemand } from "../../browse/signatureDemand.ts";
import { type CachedCatalog, CatalogCache } from "../../catalogcache/catalogCache.ts";
import { PackageDetails, PackagePage } from "../../consoleapi/packages.ts";
import type { Client } from "../../kube/client.ts";
import { NO_IMAGE_POLICIES } from "../../oci/policy/imagePolicies.ts";
import { parsePolicy } from "../../oci/policy/policyFile.ts";
import type { InstalledExtension } from "../../rollout/extensions.ts";
import { readCatalogMetas } from "../../sources/catalogContent.ts";
import type { OpenCatalogs } from "../../sources/openCatalogs.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { openPackage } from "./openPackages.ts";
import { buildClusterPackage } from "./packageDetailsView.ts";
import { PackageIcons } from "./packageIcons.ts";
import { buildPackagePage } from "./packageSearchView.ts";

const HARBOUR = join(import.meta.dirname, "../../../test/goldens/cli/fixtures/catalogs/harbour");
/** The support phases of one package. */
const LIFECYCLE = {
  schema: "io.openshift.operators.lifecycles.v1alpha1",
  package: "many-1",
  versions: [
    {
      name: "1.0",
      phases: [{ name: "Full support", startDate: "2020-01-01", endDate: "9999-12-31" }],
      platformCompatibility: [{ name: "openshift", versions: ["4.18"] }],
    },
  ],
};
const MANY = Array.from({ length: 450 }, (_, i) => `many-${i}`).flatMap((name) => [
  { schema: "olm.package", name, ...(name === "many-0" ? { icon: { mediatype: "image/png", base64data: "aWNvbg==" } } : {}) },
  { schema: "olm.channel", package: name, name: "stable", entries: [{ name: `${name}.v1` }] },
  {
    schema: "olm.bundle",
    package: name,
    name: `${name}.v1`,
    properties: [{ type: "olm.package", value: { packageName: name, version: "1.0.0" } }],
  },
]);
const INSTALLED: InstalledExtension[] = [
  { extension: "db", package: "beacon-db", bundle: "beacon-db.v3.2.1", version: "3.2.1", catalog: "harbour" },
];
const CAPABILITIES: ClusterCapabilities = {
  mayCreate: false,
  kubeVersion: "v1.33.0",
  openShift: { kind: "none" },
  architectures: ["s390x"],
};

/** A policy of the servers that requires a signature for one repository. */
const SIGNED_HARBOUR = JSON.stringify({
  default: [{ type: "insecureAcceptAnything" }],
  transports: { docker: { "quay.io/harbour/beacon-db-bundle": [{ type: "sigstoreSigned", keyPath: "/keys/harbour.pub" }] } },
});

const folder = new TempFolder();
const cache = new CatalogCache(undefined);
let open: OpenCatalogs;
let many: CachedCatalog;
beforeAll(async () => {
  const path = folder.write("many", { "catalog.json": [...MANY, LIFECYCLE].map((meta) => JSON.stringify(meta)).join("\n") });
  const harbour = await cache.obtain(`files-${"a".repeat(64)}`, () => readCatalogMetas(HARBOUR));
  many = await cache.obtain(`files-${"b".repeat(64)}`, () => readCatalogMetas(path));
  open = {
    catalogs: [
      { name: "harbour", priority: 1, book: harbour },
      { name: "many", priority: 0, book: many },
    ],
    leftOut: [{ catalog: "gone", because: "it is not being served" }],
  };
});
afterAll(async () => {
  for (const { book } of open.catalogs) await book.close();
  await cache.close();
  folder[Symbol.dispose]();
});

function search(
  filters: Parameters<typeof buildPackagePage>[1],
  offset = 0,
  capabilities?: ClusterCapabilities,
  signatures?: SignatureDemand | string,
): Promise<PackagePage> {
  const client = {} as Client; // not used, because everything is known
  return buildPackagePage(
    { open, client, installed: INSTALLED, capabilities, signatures, signal: AbortSignal.timeout(10_000) },
    filters,
    offset,
  );
}

test("buildPackagePage returns pages of 200 packages, and the catalogs that were not searched", async () => {
  const first = z.parse(PackagePage, await search({}));
  expect([first.items.length, first.next, first.leftOut]).toEqual([200, "200", [{ catalog: "gone", reason: "it is not being served" }]]);
  const last = await search({}, 400);
  expect([last.items.length, last.next]).toEqual([first.total - 400, undefined]);
});

test("buildPackagePage marks installed packages, and finds only those on request", async () => {
  const { items } = await search({ installed: "true" });
  expect(items.map((one) => [one.package, one.installedBy])).toEqual([["beacon-db", ["db"]]]);
});

test("buildPackagePage judges whether packages run on the cluster, regardless of the user's permissions", async () => {
  const { items } = await search({ catalog: "many" }, 0, CAPABILITIES);
  expect(items[0]?.obstacles).toEqual(["it runs on amd64, but the nodes are s390x"]);
  expect((await search({ catalog: "many", installable: "true" }, 0, CAPABILITIES)).total).toBe(0);
});

test("buildPackagePage shows the support of versions, and finds only supported packages on request", async () => {
  const { items } = await search({ supported: "true" }, 0, { ...CAPABILITIES, openShift: { kind: "none" } });
  const support = { text: "Full support until 9999-12-31", isSupported: true };
  expect(items.map((one) => [one.package, one.support])).toEqual([["many-1", support]]);
  const openShift = { kind: "known", text: "4.19.0", minor: { major: 4, minor: 19 } } as const;
  expect((await search({ supported: "true" }, 0, { ...CAPABILITIES, openShift })).total).toBe(0);
});

test("buildPackagePage finds only packages that need a signature on request", async () => {
  const demand: SignatureDemand = { file: parsePolicy(SIGNED_HARBOUR), policies: NO_IMAGE_POLICIES };
  const { items } = await search({ signed: "true" }, 0, undefined, demand);
  expect(items.map((one) => one.package)).toEqual(["beacon-db"]);
  const unknown = z.parse(PackagePage, await search({ signed: "true" }, 0, undefined, "The policies are unknown: forbidden"));
  expect([unknown.total, unknown.signaturesUnknown]).toEqual([0, "The policies are unknown: forbidden"]);
});

test("buildClusterPackage shows the support of each version", async () => {
  const found = await openPackage("many-1", open, undefined);
  const details = z.parse(
    PackageDetails,
    buildClusterPackage(found, undefined, { installed: [], capabilities: CAPABILITIES, needsAccount: false }),
  );
  expect(details.versions[0]?.support).toEqual({ text: "Full support until 9999-12-31", isSupported: true, platform: "OpenShift 4.18" });
});

test("buildClusterPackage describes a package with its installations and obstacles", async () => {
  const found = await openPackage("beacon-db", open, undefined);
  const details = z.parse(
    PackageDetails,
    buildClusterPackage(found, undefined, { installed: INSTALLED, capabilities: CAPABILITIES, needsAccount: false }),
  );
  expect(details.installed).toEqual([{ extension: "db", version: "3.2.1", catalog: "harbour" }]);
  expect(details.versions.find(({ bundle }) => bundle === "beacon-db.v3.2.1")?.installedBy).toEqual(["db"]);
  expect(details.obstacles).toContain("you may not create ClusterExtensions");
});

test("buildClusterPackage names the described version in the command and in the manifest", async () => {
  const found = await openPackage("beacon-db", open, "harbour");
  for (const { version = "" } of found[0].bundles) {
    const { install, described } = buildClusterPackage(found, version, {
      installed: undefined,
      capabilities: undefined,
      needsAccount: false,
    });
    expect(described.version).toBe(version);
    expect([install.command, install.yaml]).toEqual([expect.stringContaining(version), expect.stringContaining(version)]);
  }
});

test.for<[name: string, catalog: string | undefined, version: string | undefined, kind: string]>([
  ["none", undefined, undefined, "notFound"],
  ["beacon-db", "many", undefined, "notFound"],
  ["beacon-db", "gone", undefined, "failed"],
  ["beacon-db", undefined, "9.9.9", "notFound"],
])("package %s in catalog %s with version %s is reported as %s", async ([name, catalog, version, kind]) => {
  const asked = openPackage(name, open, catalog).then((found) =>
    buildClusterPackage(found, version, { installed: undefined, capabilities: undefined, needsAccount: false }),
  );
  const err: unknown = await asked.catch((thrown: unknown) => thrown);
  expect(err).toBeInstanceOf(ConsoleError);
  expect(err).toMatchObject({ kind });
});

test("PackageIcons returns icons, and undefined for packages without one", async () => {
  const icons = new PackageIcons();
  for (let i = 0; i < 2; i++) {
    expect(await icons.read(many, "many-0")).toBe("data:image/png;base64,aWNvbg==");
    expect(await icons.read(many, "many-1")).toBeUndefined();
    expect(await icons.read(many, "none")).toBeUndefined();
  }
});
