/**
 * What is stored of a catalog, each as a file of JSON Lines with an index: the metas themselves ("catalog"), and what is made of them while they
 * are read.
 */
export const PARTS = ["catalog", "findings", "packages", "properties", "search", "graphql"] as const;
/** Name of a part of a content. */
export type PartName = (typeof PARTS)[number];

/** The parts that are made of the metas. */
export type DerivedPart = Exclude<PartName, "catalog">;

/** Name of a part's file in the folder of a content. */
export function partFile(part: PartName): string {
  return `${part}.jsonl`;
}
