import { getPackageName, Schema } from "../../fbc/content.ts";
import type { Meta } from "../../fbc/types.ts";
import { encodeGoJson, indentJson } from "../../golang/json.ts";
import { goQuote } from "../../golang/quote.ts";
import { encodeGoYaml } from "../../golang/yamlWriter.ts";
import { compareText } from "../../text/compare.ts";

/** Output formats of a catalog. */
const CATALOG_FORMATS = ["json", "yaml"] as const;
export type CatalogFormat = (typeof CATALOG_FORMATS)[number];

/** The order of schemas in a package. All other schemas are between bundles and deprecations. */
const RANKS: readonly string[] = [Schema.package, Schema.channel, Schema.bundle];

/**
 * Sorts objects in the order of opm. Packages are sorted by name. In each package: the olm.package, channels and bundles by name, other objects by
 * schema, then deprecations. Objects without a package are last. Omits typed objects without a package, like opm.
 * @see C-19
 */
export function sortMetas(metas: readonly Meta[]): Meta[] {
  const kept = metas.filter((meta) => getPackageName(meta) !== "" || !isTyped(meta));
  return kept.toSorted(
    (a, b) =>
      Number(getPackageName(a) === "") - Number(getPackageName(b) === "") ||
      compareText(getPackageName(a), getPackageName(b)) ||
      rank(a) - rank(b) ||
      (isTyped(a) ? compareText(a.name, b.name) : compareText(a.schema, b.schema)),
  );
}

/** Formats objects as consecutive JSON objects, indented by four spaces, or as YAML documents with fields sorted by name. */
export function formatCatalog(metas: readonly Meta[], format: CatalogFormat): string {
  return metas.map(({ blob }) => formatMeta(blob, format)).join("");
}

/** Formats one object like `formatCatalog`. */
export function formatMeta(blob: object, format: CatalogFormat): string {
  if (format === "yaml") return `---\n${encodeGoYaml(blob)}`;
  return `${indentJson(encodeGoJson(blob, { sortKeys: false, escapeHtml: false }), 4)}\n`;
}

/**
 * Formats the files of a catalog, by path: `PACKAGE/catalog.json` for each package, and `catalog.json` for objects without a package.
 * @throws Error if the name of a package is not a valid folder name.
 * @see operator-registry v1.73.0 alpha/declcfg/write.go, WriteFS
 */
export function formatCatalogFiles(metas: readonly Meta[], format: CatalogFormat): Map<string, string> {
  const texts = new Map<string, string>();
  for (const meta of sortMetas(metas)) {
    const folder = getPackageName(meta);
    if (folder !== "" && !isPathElement(folder))
      throw new Error(`invalid package name ${goQuote(folder)}: must be a single local path element`);
    const path = `${folder === "" ? "" : `${folder}/`}catalog.${format}`;
    texts.set(path, (texts.get(path) ?? "") + formatMeta(meta.blob, format));
  }
  return texts;
}

/** Reports whether `name` is a single path element on every operating system. */
export function isPathElement(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !/[/\\\u0000:]/.test(name); // oxlint-disable-line no-control-regex
}

function isTyped({ schema }: Meta): boolean {
  return RANKS.includes(schema) || schema === Schema.deprecations;
}

function rank({ schema }: Meta): number {
  const known = RANKS.indexOf(schema);
  if (known >= 0) return known;
  return schema === Schema.deprecations ? RANKS.length + 1 : RANKS.length;
}
