import type { CatalogSource } from "../../api/clusterExtension.ts";
import { compareText } from "../../text/compare.ts";
import { compareVersionRelease, formatVersionRelease } from "../../version/version.ts";
import { parseQuery } from "../filters.ts";
import { compileSelector } from "../labelSelector.ts";
import type { SolverBundle } from "../solver/problem.ts";
import { filterSupported } from "../supportPolicy.ts";
import type { CatalogIndex, IndexedCatalog } from "./catalogIndex.ts";
import { findDependencyConflict, type InstallContext, type InstalledPeer } from "./dependencyCheck.ts";
import { toSolverBundles } from "./solverProblem.ts";

/** A higher version for the installed bundle of an extension. */
export interface PeerUpdate<B = SolverBundle> {
  readonly extension: string;
  readonly bundle: B;
  /** The range in the extension's `spec.source.catalog.version`, which excludes the version; undefined if it does not. */
  readonly excludedBy: string | undefined;
}

/**
 * Returns the bundles to which the extension's installed bundle can be upgraded directly, highest version first, then catalogs by priority and name.
 * Applies the extension's own catalog selector, channels and policies to the given catalogs. Never returns a lower or equal version, not even under
 * SelfCertified.
 * @param isLimited whether the extension's version range applies; otherwise `excludedBy` reports the range
 */
export function listPeerUpdates(peer: InstalledPeer, index: CatalogIndex, isLimited: boolean): PeerUpdate[] {
  const { packageName, version } = peer.provider;
  if (version === undefined) return [];
  const { version: range, ...source }: CatalogSource = peer.source ?? { packageName };
  const installed = { name: peer.bundle, version: formatVersionRelease(version) };
  const { cluster = { kind: "none" }, today } = index.policyInputs ?? {};
  const parsed = parseQuery({ ...source, packageName }, installed, cluster, today);
  const limited = parseQuery({ ...source, packageName, ...(range === undefined ? {} : { version: range }) }, installed, cluster, today);
  if (parsed.kind !== "query" || limited.kind !== "query") return [];
  const selected = compileSelector(source.selector);
  const updates = index.catalogs.flatMap((catalog) => {
    const content = index.packageOf(catalog.catalog, packageName);
    if (!content || selected.error !== undefined || (catalog.labels && !selected.matches(catalog.labels))) return [];
    const place = { name: catalog.catalog, priority: catalog.priority };
    const direct = new Set(filterSupported(place, content, parsed.query).allowed.map(({ bundle }) => bundle.name));
    const inRange = new Set(filterSupported(place, content, limited.query).allowed.map(({ bundle }) => bundle.name));
    return listHigher(peer, catalog, index)
      .filter(({ name }) => (isLimited ? inRange : direct).has(name))
      .map((bundle) => ({ extension: peer.extension, bundle, excludedBy: inRange.has(bundle.name) ? undefined : range }));
  });
  return updates.sort((a, b) => compareHighest(a.bundle, b.bundle));
}

/** Returns the bundles of a higher version in all catalogs, highest first, whether or not the extension can be upgraded to them. */
export function listHigherBundles(peer: InstalledPeer, index: CatalogIndex): SolverBundle[] {
  return index.catalogs.flatMap((catalog) => listHigher(peer, catalog, index)).sort(compareHighest);
}

function listHigher({ provider, checksDependencies = true }: InstalledPeer, catalog: IndexedCatalog, index: CatalogIndex): SolverBundle[] {
  const { packageName, version } = provider;
  return toSolverBundles(packageName, catalog.index.bundlesOf(packageName), catalog, index)
    .filter((bundle) => version && bundle.version && compareVersionRelease(bundle.version, version) > 0)
    .map((bundle) => (checksDependencies ? bundle : { ...bundle, constraints: [] }));
}

function compareHighest(a: SolverBundle, b: SolverBundle): number {
  const byVersion = a.version && b.version ? compareVersionRelease(b.version, a.version) : 0;
  return byVersion || b.priority - a.priority || compareText(a.catalog ?? "", b.catalog ?? "") || compareText(a.name, b.name);
}

/** Returns the context after an extension was updated; undefined if the update has a conflict with the other bundles. */
export function applyUpdate(context: InstallContext, { extension, bundle }: PeerUpdate): InstallContext | undefined {
  const { peers, own, served } = context;
  const peer = peers.find((one) => one.extension === extension);
  if (!peer) return undefined;
  const declared = { constraints: bundle.constraints, faults: [] };
  const others = [...peers.filter((one) => one !== peer), ...(own ? [own] : [])];
  const checks = peer.checksDependencies ?? true;
  if (checks && findDependencyConflict({ provider: bundle, declared }, { peers: others, own: peer, served })) return undefined;
  const updated = { ...peer, bundle: bundle.name, provider: bundle, declared };
  return { ...context, peers: peers.map((one) => (one === peer ? updated : one)) };
}

/** Returns the context after a bundle was installed by a new extension; undefined if the bundle has a conflict with the other bundles. */
export function applyInstall(context: InstallContext, bundle: SolverBundle): InstallContext | undefined {
  const { peers, own, served } = context;
  const declared = { constraints: bundle.constraints, faults: [] };
  const others = [...peers, ...(own ? [own] : [])];
  if (findDependencyConflict({ provider: bundle, declared }, { peers: others, own: undefined, served })) return undefined;
  const installed = { extension: bundle.packageName, bundle: bundle.name, provider: bundle, declared };
  return { ...context, peers: [...peers, installed].sort((a, b) => compareText(a.extension, b.extension)) };
}
