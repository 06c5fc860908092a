import { packageOf } from "../fbc/content.ts";
import { CatalogText, type DocumentChange } from "./catalogText.ts";
import type { CatalogFiles } from "./packageEdit.ts";

/** The files with only the objects of these packages, in their order; files that have none are left out. */
export function onlyPackages(files: CatalogFiles, packages: ReadonlySet<string>): Map<string, string> {
  const left = new Map<string, string>();
  for (const [path, text] of files) {
    const read = new CatalogText(text);
    const removed = new Map<number, DocumentChange>();
    for (const [i, meta] of read.documents.entries()) if (!packages.has(packageOf(meta))) removed.set(i, "removed");
    if (removed.size < read.documents.length) left.set(path, read.changed(removed).text);
  }
  return left;
}

/** The names of the packages in a catalog, in its order. */
export function packageNames(files: CatalogFiles): string[] {
  const names = [...files.values()].flatMap((text) => new CatalogText(text).documents.map(packageOf));
  return [...new Set(names)].filter((name) => name !== "");
}
