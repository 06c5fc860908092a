import type { Property } from "../../fbc/types.ts";
import { foldKey } from "../../golang/members.ts";
import type { Range } from "../../version/blang.ts";
import type { VersionRelease } from "../../version/version.ts";

/** An API as bundles provide and require it. */
export interface Gvk {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface Stated {
  /** What the author wants users to read when the constraint cannot be met; clipped. */
  readonly failureMessage?: string | undefined;
}

/** Some bundle of the package, of a version in the range, is there. */
export interface PackageConstraint extends Stated {
  readonly kind: "package";
  readonly packageName: string;
  /** As written, with what it means. */
  readonly range: { readonly text: string; readonly versions: Range };
}

/** The API is provided by some bundle, or served by the cluster. */
interface GvkConstraint extends Stated {
  readonly kind: "gvk";
  readonly gvk: Gvk;
}

/** The properties of some single bundle make the rule true. */
export interface CelConstraint extends Stated {
  readonly kind: "cel";
  /** As written. */
  readonly rule: string;
  /** False also where the rule fails for these properties, or takes more than it may. */
  readonly holds: (properties: readonly Property[]) => boolean;
}

/** `all`: every one of them holds, each perhaps by another bundle; `any`: at least one does; `not`: none does. */
export interface CompoundConstraint extends Stated {
  readonly kind: "all" | "any" | "not";
  /** At least one. */
  readonly constraints: readonly BundleConstraint[];
}

/** A constraint that one bundle alone can make true. */
export type LeafConstraint = PackageConstraint | GvkConstraint | CelConstraint;

/** What a bundle asks of the set of bundles it is installed among. */
export type BundleConstraint = LeafConstraint | CompoundConstraint;

/** A bundle as constraints see it. */
export interface Provider {
  readonly packageName: string;
  /** Undefined where the bundle has none that can be read: it is in no range. */
  readonly version: VersionRelease | undefined;
  /** The APIs that it provides. */
  readonly apis: readonly Gvk[];
  readonly properties: readonly Property[];
}

/** Whether a rule is true of the properties of one bundle; false also where it fails for them, or takes more than it may. */
export type CelRule = (properties: readonly Property[]) => boolean;

/**
 * What makes rules of CEL out of text. Reading constraints takes one in place of the library that knows CEL, since loading that costs a
 * process 11 MB (28 where the programs are not bundled) and a tenth of a second, and hardly a catalog has a rule: who reads loads it when
 * `mentionsCel` says so.
 */
export interface CelCompiler {
  /** @throws Error when the text is no rule, or one that takes more than it may; it says why, for the catalog's author. */
  compile(rule: string): CelRule;
  /** How many steps, a million of which take about a second, all rules may take together from now on. What is known already takes none. */
  grant(steps: number): void;
  /** Whether rules wanted more since then: those that did are false without being known. */
  readonly wasRefused: boolean;
}

/** Whether there may be a rule of CEL among the properties; never false where there is one. */
export function mentionsCel(properties: readonly Property[]): boolean {
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
