import type { PackageContent } from "../../fbc/types.ts";
import { mastermindsRange } from "../../version/masterminds.ts";
import { formatVersion } from "../../version/version.ts";
import type { BundleConstraint, Gvk, PackageConstraint, Provider } from "../constraint/constraint.ts";
import { holds } from "../constraint/evaluate.ts";
import { providerFrom } from "../constraint/parse.ts";
import { resolve } from "../resolve.ts";
import type { SolverBundle } from "../solver/problem.ts";

/** A package that is to be installed for the sake of others, and among what. */
export interface DependencyRequest {
  /** The bundle that a solution chose of it. */
  readonly bundle: SolverBundle;
  /** Everything else that is there then. */
  readonly others: readonly Provider[];
  readonly served: readonly Gvk[];
  /** All that is asked of it: the constraints of those others, and its own. */
  readonly constraints: readonly BundleConstraint[];
  /** What the bundle's catalog says about the package, where that is known. */
  readonly content: PackageContent | undefined;
}

/** Longest text that `spec.source.catalog.version` takes. */
const MAX_RANGE = 64;

/**
 * What to put into `spec.source.catalog.version` of an extension that is made for others, so that what is chosen for it satisfies them and updates
 * go on: nothing, or the range that they ask for; the version that was chosen where neither is sure to do.
 */
export function dependencyRange(request: DependencyRequest): string {
  const { bundle, constraints } = request;
  const asked = constraints.flatMap((constraint) => rangesOf(constraint, bundle));
  const converted = [...new Set(asked)].map(mastermindsRange);
  const isPlain = converted.every((range) => range !== undefined && (converted.length === 1 || !range.includes("||")));
  const text = isPlain ? converted.join(", ") : undefined;
  if (text !== undefined && text.length <= MAX_RANGE && wouldDo(text, request)) return text;
  return bundle.version ? formatVersion(bundle.version.version) : "";
}

/** The ranges of a package that are asked for and contain the bundle, as written. */
function rangesOf(constraint: BundleConstraint, bundle: SolverBundle): string[] {
  if (constraint.kind === "all" || constraint.kind === "any") return constraint.constraints.flatMap((member) => rangesOf(member, bundle));
  return constraint.kind === "package" && isMetBy(constraint, bundle) ? [constraint.range.text] : [];
}

function isMetBy({ packageName, range }: PackageConstraint, { packageName: name, version }: SolverBundle): boolean {
  return packageName === name && version !== undefined && range.versions.contains(version.version);
}

/** Whether what is resolved for the range, in the bundle's catalog, satisfies everybody. */
function wouldDo(version: string, { bundle, others, served, constraints, content }: DependencyRequest): boolean {
  const { packageName, catalog = "", priority } = bundle;
  const resolution = resolve({ source: { packageName, version }, catalogs: [{ name: catalog, priority, labels: {}, content }] });
  if (resolution.kind === "unresolved") return false;
  if (resolution.bundle.name === bundle.name) return true;
  const all = [...others, providerFrom(resolution.bundle)];
  return constraints.every((constraint) => holds(constraint, all, served));
}
