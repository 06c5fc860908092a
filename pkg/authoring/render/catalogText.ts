import { packageOf, Schema } from "../../fbc/content.ts";
import type { Meta } from "../../fbc/types.ts";
import { goJson, indentJson } from "../../golang/json.ts";
import { goQuote } from "../../golang/quote.ts";
import { goYaml } from "../../golang/yamlWriter.ts";
import { compareText } from "../../text/compare.ts";

/** How a catalog is written. */
const CATALOG_FORMATS = ["json", "yaml"] as const;
export type CatalogFormat = (typeof CATALOG_FORMATS)[number];

/** The order of schemas within a package; all others come between bundles and deprecations. */
const RANKS: readonly string[] = [Schema.package, Schema.channel, Schema.bundle];

/**
 * The objects in opm's order: packages by name, and in each the package, channels and bundles by name, others by schema, deprecations; at the end others
 * that belong to no package. Typed objects that name no package are left out, as opm does it.
 * @see C-19
 */
export function catalogOrder(metas: readonly Meta[]): Meta[] {
  const kept = metas.filter((meta) => packageOf(meta) !== "" || !isTyped(meta));
  return kept.toSorted(
    (a, b) =>
      Number(packageOf(a) === "") - Number(packageOf(b) === "") ||
      compareText(packageOf(a), packageOf(b)) ||
      rank(a) - rank(b) ||
      (isTyped(a) ? compareText(a.name, b.name) : compareText(a.schema, b.schema)),
  );
}

/** The objects as text: JSON objects one after another, indented by four, or YAML documents with members by name. */
export function catalogText(metas: readonly Meta[], format: CatalogFormat): string {
  return metas.map(({ blob }) => objectText(blob, format)).join("");
}

/** One object as text, see `catalogText`. */
export function objectText(blob: object, format: CatalogFormat): string {
  if (format === "yaml") return `---\n${goYaml(blob)}`;
  return `${indentJson(goJson(blob, { sortKeys: false, escapeHtml: false }), 4)}\n`;
}

/**
 * The files that a catalog is kept in, by path: `PACKAGE/catalog.json` for each package, and `catalog.json` for what belongs to none.
 * @throws Error for a package whose name can be no folder.
 * @see operator-registry v1.73.0 alpha/declcfg/write.go, WriteFS
 */
export function catalogFilesOf(metas: readonly Meta[], format: CatalogFormat): Map<string, string> {
  const texts = new Map<string, string>();
  for (const meta of catalogOrder(metas)) {
    const folder = packageOf(meta);
    if (folder !== "" && !isPathElement(folder))
      throw new Error(`invalid package name ${goQuote(folder)}: must be a single local path element`);
    const path = `${folder === "" ? "" : `${folder}/`}catalog.${format}`;
    texts.set(path, (texts.get(path) ?? "") + objectText(meta.blob, format));
  }
  return texts;
}

/** Whether `name` is the name of something in a folder and leads nowhere else, on any system. */
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
