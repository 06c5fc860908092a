import type { CatalogSource } from "../../api/clusterExtension.ts";
import { goQuote } from "../../golang/quote.ts";
import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";
import { findUnmet, formatGvk, formatUnmetConstraint, isSatisfied, meets } from "../constraint/evaluate.ts";
import { findMetPart } from "../constraint/metParts.ts";
import { type ConstraintFault, type DeclaredConstraints, formatError, getGvkKey } from "../constraint/parse.ts";
import type { ServedApi } from "../solver/problem.ts";
import { formatEnumeration } from "../wording.ts";

/** The installed bundle of an extension and the constraints that it declares. */
export interface InstalledPeer {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  /** Name of the bundle. */
  readonly bundle: string;
  readonly provider: Provider;
  /** Empty if the extension does not check its dependencies. */
  readonly declared: DeclaredConstraints;
  /** The extension's `spec.source.catalog`; if absent, any version of the package may be installed along upgrade edges. */
  readonly source?: CatalogSource | undefined;
  /** False if the extension's `spec.dependencies.policy` is Ignore. Default: true. */
  readonly checksDependencies?: boolean;
}

/** The installed bundles and served APIs on the cluster where a bundle is installed. */
export interface InstallContext {
  /** The installed bundles of all other extensions, by name of extension. */
  readonly peers: readonly InstalledPeer[];
  /** The installed bundle of the extension itself. */
  readonly own: InstalledPeer | undefined;
  /** APIs of the cluster that no installed bundle provides. */
  readonly served: readonly ServedApi[];
}

/** Why a bundle cannot be installed. At least one list has an element; only `faults` has if the bundle cannot be judged. */
export interface DependencyConflict {
  /** Its constraints that cannot be parsed. The catalog author must correct them. */
  readonly faults: readonly ConstraintFault[];
  /** Its own constraints that are not met, such as `package "b" >=2.0.0`. */
  readonly requires: readonly string[];
  /** APIs that it provides although another installed bundle already provides them. */
  readonly provided: readonly ProvidedApi[];
  /** Installed bundles with constraints that would no longer be met. */
  readonly dependents: readonly BrokenDependent[];
}

/** An API and the installed bundle that provides it. */
interface ProvidedApi {
  readonly gvk: Gvk;
  readonly extension: string;
  readonly bundle: string;
}

/** An installed bundle and the dependencies that it would lose. */
interface BrokenDependent {
  readonly extension: string;
  readonly bundle: string;
  /** Such as `API g.example.com/v1 Kind`. */
  readonly requires: readonly string[];
}

/** A bundle whose dependencies are checked. */
export interface CheckedBundle {
  readonly provider: Provider;
  readonly declared: DeclaredConstraints;
}

/**
 * Returns all reasons why the bundle cannot replace the extension's installed bundle, or be installed if there is none; undefined if it can. Ignores
 * what is already wrong, so that it does not block the installation: unmet constraints of peers, and APIs that a peer and the extension's installed
 * bundle both provide.
 */
export function findDependencyConflict({ provider, declared }: CheckedBundle, context: InstallContext): DependencyConflict | undefined {
  if (declared.faults.length > 0) return { faults: declared.faults, requires: [], provided: [], dependents: [] };
  const served = context.served.map(({ gvk }) => gvk);
  const others = context.peers.map((peer) => peer.provider);
  const after = [...others, provider];
  const missing = declared.constraints.filter((constraint) => !isSatisfied(constraint, after, served));
  const conflict = {
    faults: [],
    requires: formatUnmetConstraints(missing, after, served),
    provided: listProvidedApis(provider, context),
    dependents: findBrokenDependents(provider, context),
  };
  return missing.length + conflict.provided.length + conflict.dependents.length > 0 ? conflict : undefined;
}

function listProvidedApis(provider: Provider, { peers, own }: InstallContext): ProvidedApi[] {
  const before = new Set(own?.provider.apis.map(getGvkKey));
  const added = new Set(provider.apis.map(getGvkKey).filter((key) => !before.has(key)));
  return peers.flatMap(({ extension, bundle, provider: { apis } }) =>
    apis.filter((gvk) => added.has(getGvkKey(gvk))).map((gvk) => ({ gvk, extension, bundle })),
  );
}

function findBrokenDependents(provider: Provider, context: InstallContext): BrokenDependent[] {
  const served = context.served.map(({ gvk }) => gvk);
  const after = [...context.peers.map((peer) => peer.provider), provider];
  return context.peers.flatMap((peer) => {
    const concerned = peer.declared.constraints.filter((constraint) => isConcerned(constraint, context.own?.provider, provider));
    const broken = listMetConstraints(concerned, context).filter((constraint) => !isSatisfied(constraint, after, served));
    return broken.length > 0 ? [toDependent(peer, formatUnmetConstraints(broken, after, served))] : [];
  });
}

/** Returns the parts of constraints that the installed bundles and served APIs meet now. */
export function listMetConstraints(constraints: readonly BundleConstraint[], { peers, own, served }: InstallContext): BundleConstraint[] {
  const providers = [...peers, ...(own ? [own] : [])].map((peer) => peer.provider);
  const gvks = served.map(({ gvk }) => gvk);
  return constraints.flatMap((constraint) => findMetPart(constraint, (part) => isSatisfied(part, providers, gvks)) ?? []);
}

/** Reports whether only one of the two bundles meets a part of the constraint. If not, replacing one with the other cannot change the result. */
function isConcerned(constraint: BundleConstraint, before: Provider | undefined, after: Provider): boolean {
  if ("constraints" in constraint) return constraint.constraints.some((member) => isConcerned(member, before, after));
  return (before !== undefined && meets(before, constraint)) !== meets(after, constraint);
}

function toDependent({ extension, bundle }: InstalledPeer, requires: readonly string[]): BrokenDependent {
  return { extension, bundle, requires };
}

function formatUnmetConstraints(
  constraints: readonly BundleConstraint[],
  providers: readonly Provider[],
  served: readonly Gvk[],
): string[] {
  const all = constraints.flatMap((constraint) => findUnmet(constraint, providers, served).map(formatUnmetConstraint));
  return [...new Set(all)];
}

/**
 * Formats clauses such as `it requires package "b" >=2.0.0`, or `ClusterExtension "a" (bundle "a.v1.0.0") would lose dependencies: API g/v1
 * Kind`, separated by semicolons.
 */
export function formatDependencyConflict({ faults, requires, provided, dependents }: DependencyConflict): string {
  const clauses = [
    ...(faults.length > 0 ? [formatEnumeration(faults.map(formatError))] : []),
    ...(requires.length > 0 ? [`it requires ${formatEnumeration(requires)}`] : []),
    ...(provided.length > 0 ? [formatEnumeration(provided.map(providedText))] : []),
    ...(dependents.length > 0 ? [formatEnumeration(dependents.map(dependentText))] : []),
  ];
  return clauses.join("; ");
}

function providedText({ gvk, extension, bundle }: ProvidedApi): string {
  return `ClusterExtension ${goQuote(extension)} (bundle ${goQuote(bundle)}) already provides API ${formatGvk(gvk)}`;
}

function dependentText({ extension, bundle, requires }: BrokenDependent): string {
  return `ClusterExtension ${goQuote(extension)} (bundle ${goQuote(bundle)}) would lose dependencies: ${formatEnumeration(requires)}`;
}
