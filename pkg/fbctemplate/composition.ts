import { compareText } from "../text/compare.ts";
import { goQuote } from "../golang/quote.ts";
import { packageOf } from "../fbc/content.ts";
import type { Meta } from "../fbc/types.ts";
import type { CatalogReference } from "./compositeConfig.ts";

/** A reference with the objects of its catalog. */
export interface ComposedPart {
  readonly reference: CatalogReference;
  readonly metas: readonly Meta[];
}

/**
 * The objects that a reference takes: those of its packages, or all. What belongs to no package goes with all packages only.
 * @throws Error for a package that the catalog does not have.
 */
export function chosenMetas({ name, packages }: CatalogReference, metas: readonly Meta[]): Meta[] {
  if (packages === undefined) return [...metas];
  const there = new Set(metas.map(packageOf));
  const missing = packages.filter((wanted) => !there.has(wanted));
  if (missing.length > 0) {
    const has = [...there].filter((one) => one !== "").sort(compareText);
    throw new Error(
      `reference ${goQuote(name)} has no package ${missing.map(goQuote).join(", ")}; it has ${has.length > 10 ? `${has.length} others` : has.join(", ") || "none"}`,
    );
  }
  return metas.filter((meta) => packages.includes(packageOf(meta)));
}

/** A sentence for each package that several references have, by package. */
export function sharedPackages(parts: readonly ComposedPart[]): string[] {
  const owners = new Map<string, CatalogReference[]>();
  for (const { reference, metas } of parts) {
    for (const name of new Set(metas.map(packageOf))) {
      if (name !== "") owners.set(name, [...(owners.get(name) ?? []), reference]);
    }
  }
  return [...owners]
    .filter(([, references]) => references.length > 1)
    .sort(([a], [b]) => compareText(a, b))
    .map(
      ([name, references]) => `package ${goQuote(name)} is in references ${references.map(sourceOf).join(" and ")}: a catalog has it once`,
    );
}

function sourceOf({ name, source }: CatalogReference): string {
  return `${goQuote(name)} (${"image" in source ? source.image : source.path})`;
}
