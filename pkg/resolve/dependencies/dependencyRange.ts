import type { PackageContent } from "../../fbc/types.ts";
import { toMastermindsRange } from "../../version/masterminds.ts";
import { formatVersion } from "../../version/version.ts";
import type { BundleConstraint, Gvk, PackageConstraint, Provider } from "../constraint/constraint.ts";
import { isSatisfied } from "../constraint/evaluate.ts";
import { toProvider } from "../constraint/parse.ts";
import { resolve } from "../resolve.ts";
import type { SolverBundle } from "../solver/problem.ts";

/** A package to be installed as a dependency, and its context. */
export interface DependencyRequest {
  /** The bundle that the solver chose. */
  readonly bundle: SolverBundle;
  /** All other bundles that are installed at that time. */
  readonly others: readonly Provider[];
  readonly served: readonly Gvk[];
  /** All constraints that it must meet: those of the other bundles and its own. */
  readonly constraints: readonly BundleConstraint[];
  /** The package in the bundle's catalog, if known. */
  readonly content: PackageContent | undefined;
}

/** Maximum length of `spec.source.catalog.version`. */
const MAX_RANGE = 64;

/**
 * Returns `spec.source.catalog.version` for an extension that is created as a dependency. If resolution within the ranges that the dependents require
 * satisfies the dependents, returns these ranges (empty if there are none), so that the extension gets updates. Otherwise returns the chosen version.
 */
export function computeDependencyRange(request: DependencyRequest): string {
  const { bundle, constraints } = request;
  const requested = constraints.flatMap((constraint) => listRanges(constraint, bundle));
  const converted = [...new Set(requested)].map(toMastermindsRange);
  const isPlain = converted.every((range) => range !== undefined && (converted.length === 1 || !range.includes("||")));
  const text = isPlain ? converted.join(", ") : undefined;
  if (text !== undefined && text.length <= MAX_RANGE && satisfiesDependents(text, request)) return text;
  return bundle.version ? formatVersion(bundle.version.version) : "";
}

/** Returns the text of the required ranges of the package that contain the bundle. */
function listRanges(constraint: BundleConstraint, bundle: SolverBundle): string[] {
  if (constraint.kind === "all" || constraint.kind === "any") return constraint.constraints.flatMap((member) => listRanges(member, bundle));
  return constraint.kind === "package" && isMetBy(constraint, bundle) ? [constraint.range.text] : [];
}

function isMetBy({ packageName, range }: PackageConstraint, { packageName: name, version }: SolverBundle): boolean {
  return packageName === name && version !== undefined && range.versions.contains(version.version);
}

/** Reports whether the bundle that the range resolves to in the bundle's catalog satisfies all dependents. */
function satisfiesDependents(version: string, { bundle, others, served, constraints, content }: DependencyRequest): boolean {
  const { packageName, catalog = "", priority } = bundle;
  const resolution = resolve({ source: { packageName, version }, catalogs: [{ name: catalog, priority, labels: {}, content }] });
  if (resolution.kind === "unresolved") return false;
  if (resolution.bundle.name === bundle.name) return true;
  const all = [...others, toProvider(resolution.bundle)];
  return constraints.every((constraint) => isSatisfied(constraint, all, served));
}
