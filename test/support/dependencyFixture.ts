import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import type { CatalogSource, ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { KeyedLock } from "../../pkg/async/keyedLock.ts";
import type { PackageContent, Property } from "../../pkg/fbc/types.ts";
import { CatalogBundleIndexes } from "../../pkg/operatorcontroller/catalogs/catalogBundleIndexes.ts";
import { CatalogPackages } from "../../pkg/operatorcontroller/catalogs/catalogPackages.ts";
import { CatalogIndexReader } from "../../pkg/operatorcontroller/dependencies/catalogIndexReader.ts";
import type { ClusterApi } from "../../pkg/operatorcontroller/dependencies/clusterApis.ts";
import { ConstraintCache } from "../../pkg/operatorcontroller/dependencies/constraintCache.ts";
import { DependencyChoice } from "../../pkg/operatorcontroller/dependencies/dependencyChoice.ts";
import { DependencyPlans } from "../../pkg/operatorcontroller/dependencies/dependencyPlans.ts";
import { BlockingHintSearch, type HintSearch } from "../../pkg/operatorcontroller/dependencies/hintSearch.ts";
import { InstallContextReader } from "../../pkg/operatorcontroller/dependencies/installContext.ts";
import type { InstalledProvider } from "../../pkg/operatorcontroller/releases/installedReleases.ts";
import { CelRules } from "../../pkg/resolve/cel/celRules.ts";
import type { Gvk } from "../../pkg/resolve/constraint/constraint.ts";
import { toProvider } from "../../pkg/resolve/constraint/parse.ts";
import { type BundleFixture, type CatalogFixture, contentFrom, indexPackages } from "./catalogFixture.ts";
import { createCatalog } from "./catalogs.ts";
import { createExtension } from "./extensions.ts";
import { FakeClock } from "./fakeClock.ts";

/**
 * The dependencies of a bundle in the short form of cases: an API is given by its kind, with group example.com and version v1; `requires` contains
 * "API Kind", "package range", or the value of an olm.constraint.
 */
export interface DependentFixture {
  provides?: string[];
  requires?: (string | object)[];
  properties?: Property[];
}

/** A bundle called "PACKAGE.vVERSION" that an extension has installed. */
interface InstalledFixture extends DependentFixture {
  bundle: string;
  /** The extension's spec.source.catalog, without the package; by default without limits. */
  catalog?: Partial<CatalogSource>;
  /** The extension's spec.dependencies.policy. */
  policy?: "Require" | "Install" | "Ignore";
}

/** A catalog with its packages; bundles can have provided APIs and requirements. */
export interface CatalogWorld {
  priority?: number;
  unavailable?: boolean;
  /** False if the extension does not select the catalog. */
  selected?: boolean;
  packages: Record<string, Omit<CatalogFixture, "bundles"> & { bundles: (string | (Exclude<BundleFixture, string> & DependentFixture))[] }>;
}

/** The state of a cluster. */
export interface DependencyWorld {
  catalogs?: Record<string, CatalogWorld>;
  /** By extension. */
  installed?: Record<string, InstalledFixture>;
  /** Kinds that the cluster serves, and the extensions that own them. */
  served?: (string | { kind: string; extension: string })[];
  /** Extensions whose releases are still being read. */
  unread?: string[];
}

/** Returns the API for a kind in a case. */
export function toApi(kind: string): Gvk {
  return { group: "example.com", version: "v1", kind };
}

/** Creates the properties that a fixture describes. */
export function propertiesFrom({ provides = [], requires = [], properties = [] }: DependentFixture): Property[] {
  return [...provides.map((kind) => ({ type: "olm.gvk", value: toApi(kind) })), ...requires.map(requirement), ...properties];
}

function requirement(text: string | object): Property {
  if (typeof text !== "string") return { type: "olm.constraint", value: text };
  const [packageName = "", ...range] = text.split(" ");
  if (packageName === "API") return { type: "olm.gvk.required", value: toApi(range.join(" ")) };
  return { type: "olm.package.required", value: { packageName, versionRange: range.join(" ") } };
}

/** Creates the package that a fixture describes. */
export function packageFrom(fixture: CatalogWorld["packages"][string], packageName: string): PackageContent {
  const bundles = fixture.bundles.map((bundle) => {
    if (typeof bundle === "string") return bundle;
    const { provides, requires, properties, ...rest } = bundle;
    return {
      ...rest,
      properties: propertiesFrom({
        ...(provides ? { provides } : {}),
        ...(requires ? { requires } : {}),
        ...(properties ? { properties } : {}),
      }),
    };
  });
  return contentFrom({ ...fixture, bundles }, packageName);
}

/** Creates a resolution with this state of the cluster, and its catalogs. */
export function dependencyWorld(
  { catalogs = {}, installed = {}, served = [], unread = [] }: DependencyWorld = {},
  createSearch: (constraints: ConstraintCache) => HintSearch = (constraints) => new BlockingHintSearch(constraints),
): {
  choice: DependencyChoice;
  contents: CatalogPackages;
  installContext: InstallContextReader;
  reachable: CatalogIndexReader;
  constraints: ConstraintCache;
  catalogs: ClusterCatalog[];
  reads: string[];
} {
  const reads: string[] = [];
  const packages = new Map(
    Object.entries(catalogs).map(([name, { packages: all }]) => [
      `https://catalogd/catalogs/${name}`,
      new Map(Object.entries(all).map(([packageName, fixture]) => [packageName, packageFrom(fixture, packageName)])),
    ]),
  );
  const contents = new CatalogPackages({ packageContent: (base, _ref, name) => Promise.resolve(packages.get(base)?.get(name)) });
  const reader = {
    bundleIndex: (base: string) => {
      reads.push(base);
      return indexPackages(packages.get(base)?.values() ?? []);
    },
  };
  const constraints = new ConstraintCache(() => Promise.resolve(new CelRules()));
  const releases = {
    list: () => Object.entries(installed).map(([extension, fixture]) => installedFrom(extension, fixture)),
    unread: () => unread,
  };
  const installContext = new InstallContextReader({
    installed: releases,
    apis: { served: () => Promise.resolve(served.map(servedFrom)) },
    constraints,
    extensions: { get: (name) => extensionFrom(name, installed[name]) },
    memory: { isUninstalling: () => false },
  });
  const all = Object.entries(catalogs).map(([name, { priority = 0, unavailable = false }]) =>
    createCatalog(name, {
      digest: `quay.io/${name}@sha256:1`,
      priority,
      serving: !unavailable,
      labels: { "olm.operatorframework.io/metadata.name": name },
    }),
  );
  const indexes = new CatalogBundleIndexes(reader, new FakeClock(), new AbortController().signal);
  const reachable = new CatalogIndexReader({ indexes, contents, constraints, catalogs: { list: () => all } });
  return {
    choice: new DependencyChoice({
      installContext,
      indexes: reachable,
      constraints,
      search: createSearch(constraints),
      plans: new DependencyPlans({ extensions: { get: () => undefined }, installed: releases, enqueue: () => undefined }),
      extensions: { list: () => [] },
      lock: new KeyedLock(),
      enqueue: () => undefined,
    }),
    contents,
    installContext,
    reachable,
    constraints,
    catalogs: all.filter(({ metadata }) => catalogs[metadata.name]?.selected !== false),
    reads,
  };
}

function servedFrom(stated: string | { kind: string; extension: string }): ClusterApi {
  if (typeof stated === "string") return { gvk: toApi(stated), owner: undefined, resource: "" };
  const { kind, extension } = stated;
  return { gvk: toApi(kind), owner: `ClusterExtension "${extension}"`, extension, resource: "" };
}

function extensionFrom(name: string, fixture: InstalledFixture | undefined): ClusterExtension | undefined {
  if (!fixture) return undefined;
  const { bundle, catalog = {}, policy } = fixture;
  const extension = createExtension(name, { packageName: bundle.slice(0, bundle.indexOf(".v")), ...catalog });
  return policy ? { ...extension, spec: { ...extension.spec, dependencies: { policy } } } : extension;
}

function installedFrom(extension: string, fixture: InstalledFixture): InstalledProvider {
  const [packageName = "", version = ""] = fixture.bundle.split(".v");
  const properties = [{ type: "olm.package", value: { packageName, version } }, ...propertiesFrom(fixture)];
  return { ...toProvider({ package: packageName, name: fixture.bundle, properties }), name: fixture.bundle, extension };
}
