import { goQuote } from "../../golang/quote.ts";
import type { BundleConstraint, Gvk, Provider } from "../constraint/constraint.ts";
import { findUnmet, formatUnmetConstraint, isSatisfied, meets } from "../constraint/evaluate.ts";
import { type ConstraintFault, type DeclaredConstraints, formatError } from "../constraint/parse.ts";
import type { ServedApi } from "../solver/problem.ts";
import { formatEnumeration } from "../wording.ts";

/** The installed bundle of an extension and the constraints that it declares. */
export interface InstalledPeer {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  /** Name of the bundle. */
  readonly bundle: string;
  readonly provider: Provider;
  readonly declared: DeclaredConstraints;
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

/** Why a bundle cannot be installed: its own dependencies are not met, or installed bundles depend on the bundle that it would replace. */
export type DependencyConflict =
  /** Its constraints cannot be parsed. The catalog author must correct them. */
  | { readonly kind: "faulty"; readonly faults: readonly ConstraintFault[] }
  /** Some of its own constraints are not met. */
  | { readonly kind: "unmet"; readonly constraints: readonly BundleConstraint[]; readonly reason: readonly string[] }
  /** Constraints of these installed bundles would no longer be met. */
  | { readonly kind: "breaks"; readonly dependents: readonly BrokenDependent[] };

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
 * Returns why the bundle cannot replace the extension's installed bundle, or be installed if there is none; undefined if it can. Ignores constraints
 * of peers that are already unmet, so that they do not block the installation.
 */
export function findDependencyConflict({ provider, declared }: CheckedBundle, context: InstallContext): DependencyConflict | undefined {
  if (declared.faults.length > 0) return { kind: "faulty", faults: declared.faults };
  const served = context.served.map(({ gvk }) => gvk);
  const others = context.peers.map((peer) => peer.provider);
  const after = [...others, provider];
  const missing = declared.constraints.filter((constraint) => !isSatisfied(constraint, after, served));
  if (missing.length > 0) return { kind: "unmet", constraints: missing, reason: formatUnmetConstraints(missing, after, served) };
  const own = context.own?.provider;
  const before = own ? [...others, own] : others;
  const dependents = context.peers.flatMap((peer) => {
    const broken = peer.declared.constraints.filter(
      (constraint) =>
        isConcerned(constraint, own, provider) && isSatisfied(constraint, before, served) && !isSatisfied(constraint, after, served),
    );
    return broken.length > 0 ? [toDependent(peer, formatUnmetConstraints(broken, after, served))] : [];
  });
  return dependents.length > 0 ? { kind: "breaks", dependents } : undefined;
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
 * Formats a clause such as `it requires package "b" >=2.0.0`, or `ClusterExtension "a" (bundle "a.v1.0.0") would lose dependencies: API g/v1
 * Kind`.
 */
export function formatDependencyConflict(conflict: DependencyConflict): string {
  if (conflict.kind === "faulty") return formatEnumeration(conflict.faults.map(formatError));
  if (conflict.kind === "unmet") return `it requires ${formatEnumeration(conflict.reason)}`;
  return formatEnumeration(conflict.dependents.map(dependentText));
}

function dependentText({ extension, bundle, requires }: BrokenDependent): string {
  return `ClusterExtension ${goQuote(extension)} (bundle ${goQuote(bundle)}) would lose dependencies: ${formatEnumeration(requires)}`;
}
