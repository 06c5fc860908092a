import type { Property } from "../../fbc/types.ts";
import { foldKey } from "../../golang/members.ts";
import type { Range } from "../../version/blang.ts";
import type { VersionRelease } from "../../version/version.ts";
import type { StepBudget } from "./stepBudget.ts";

/** An API that bundles provide or require. */
export interface Gvk {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface ConstraintBase {
  /** The author's message for an unmet constraint; truncated. */
  readonly failureMessage?: string | undefined;
}

/** Requires a bundle of the package whose version is in the range. */
export interface PackageConstraint extends ConstraintBase {
  readonly kind: "package";
  readonly packageName: string;
  /** The range as text, and parsed. */
  readonly range: { readonly text: string; readonly versions: Range };
}

/** Requires that a bundle provides the API or the cluster serves it. */
interface GvkConstraint extends ConstraintBase {
  readonly kind: "gvk";
  readonly gvk: Gvk;
}

/** Requires a single bundle whose properties make the rule true. */
export interface CelConstraint extends ConstraintBase {
  readonly kind: "cel";
  /** As written. */
  readonly rule: string;
  /** Also false if the rule fails for these properties or exceeds its step limit. */
  readonly holds: (properties: readonly Property[]) => boolean;
}

/** `all`: every member is true, possibly by different bundles; `any`: at least one is true; `not`: none is true. */
export interface CompoundConstraint extends ConstraintBase {
  readonly kind: "all" | "any" | "not";
  /** At least one. */
  readonly constraints: readonly BundleConstraint[];
}

/** A constraint without members, which a single bundle can satisfy. */
export type LeafConstraint = PackageConstraint | GvkConstraint | CelConstraint;

/** A condition that a bundle places on the bundles installed with it. */
export type BundleConstraint = LeafConstraint | CompoundConstraint;

/** The parts of a bundle that constraints refer to. */
export interface Provider {
  readonly packageName: string;
  /** Undefined if the bundle has no valid version, so that no range contains it. */
  readonly version: VersionRelease | undefined;
  /** The APIs that the bundle provides. */
  readonly apis: readonly Gvk[];
  readonly properties: readonly Property[];
}

/**
 * Reports whether a rule is true for the properties of one bundle, which must not change. False if the rule fails or exceeds its step limit.
 * @throws StepLimitError if the budget of the resolution is spent, see `CelCompiler.charge`
 */
export type CelRule = (properties: readonly Property[]) => boolean;

/**
 * Compiles CEL rules. The parser of constraints receives a compiler instead of importing the CEL library: loading it costs a process 11 MB (28
 * if the programs are not bundled) and a tenth of a second, and few catalogs have rules. Callers load it if `usesCel` is true.
 */
export interface CelCompiler {
  /**
   * @param bundle the bundle that declares the rule
   * @throws Error if the text is not a valid rule or exceeds a limit; the message is for the catalog's author
   */
  compile(rule: string, bundle: string): CelRule;
  /**
   * Runs synchronous work, and charges the rules that it evaluates to `budget`. Rules evaluated outside of such work are not limited in total.
   * @throws StepLimitError if the budget is spent
   */
  charge<T>(budget: StepBudget, work: () => T): T;
}

/** Reports whether the properties may contain a CEL rule. May be true although they contain none. */
export function usesCel(properties: readonly Property[]): boolean {
  const left: unknown[] = properties.filter(({ type }) => type === "olm.constraint").map(({ value }) => value);
  for (let value = left.pop(); value !== undefined || left.length > 0; value = left.pop()) {
    if (typeof value !== "object" || value === null) continue;
    for (const [key, member] of Object.entries(value)) {
      if (!Array.isArray(value) && foldKey(key) === "cel") return true;
      left.push(member);
    }
  }
  return false;
}
