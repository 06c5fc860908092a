/** What a layout that is carried from one registry to another notes beside its catalog. */
export interface CarriedCatalog {
  /** The reference that was mirrored, such as "quay.io/team/catalog:v1". */
  readonly source: string;
  /** Whether it is that image, and not one that was built of a folder, or of a part of it. */
  readonly isWhole: boolean;
}

const SOURCE = "org.operatorframework.olmv1.mirror.catalog";
const CONTENT = "org.operatorframework.olmv1.mirror.content";

/** The annotations that say so. */
export function carriedAnnotations({ source, isWhole }: CarriedCatalog): Record<string, string> {
  return { [SOURCE]: source, [CONTENT]: isWhole ? "whole" : "built" };
}

/** What annotations say; undefined for those of no catalog that is carried. */
export function carriedCatalogOf(annotations: Readonly<Record<string, string>> = {}): CarriedCatalog | undefined {
  const source = annotations[SOURCE];
  return source === undefined ? undefined : { source, isWhole: annotations[CONTENT] === "whole" };
}
