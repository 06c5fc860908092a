import { imagesOf, neededApis, neededPackages, providedApis } from "../../../pkg/authoring/mirror/bundleReferences.ts";
import { type Selection, subsetPackage } from "../../../pkg/authoring/mirror/subset.ts";
import { type CatalogSource, checkCatalog } from "../../../pkg/catalogd/load/checkCatalog.ts";
import { packageOf } from "../../../pkg/fbc/content.ts";
import { decodeMetas } from "../../../pkg/fbc/decode.ts";
import type { Meta } from "../../../pkg/fbc/types.ts";
import { canonicalJson } from "../../../pkg/golang/json.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { filesOf } from "../rbac/catalogPackage.ts";
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";

/** What a mirror needs of a catalog. */
export interface MirroredCatalog {
  /** references of all its images */
  readonly images: ReadonlySet<string>;
  readonly bundles: number;
  /** Of a part of the catalog its text, JSON Lines; undefined for a whole one, which stays as it is. */
  readonly text: string | undefined;
  readonly notes: readonly string[];
}

/**
 * Reads a catalog's images; with a selection those of the part alone.
 * @param source folder or file
 * @throws ContentError for what cannot be read; Error where the part is none.
 */
export async function mirroredCatalog(source: string, selection: Selection | undefined): Promise<MirroredCatalog> {
  const images = new Set<string>();
  const byPackage = new Map<string, Meta[]>();
  let bundles = 0;
  const take = (meta: Meta): void => {
    const named = imagesOf(meta);
    if (named.length > 0) bundles += 1;
    for (const image of named) images.add(image);
  };
  const suppliers = new Map<string, Set<string>>();
  for await (const meta of metasIn(source)) {
    if (selection) for (const api of providedApis(meta)) suppliers.set(api, (suppliers.get(api) ?? new Set()).add(packageOf(meta)));
    if (!selection) take(meta);
    else if (isWanted(selection, packageOf(meta)) && !byPackage.get(packageOf(meta))?.push(meta)) byPackage.set(packageOf(meta), [meta]);
  }
  if (!selection) return { images, bundles, text: undefined, notes: [] };
  const missing = [...(selection.packages ?? [])].filter((name) => !byPackage.has(name));
  if (missing.length > 0) throw new Error(`${source} has no package ${missing.map(goQuote).join(", ")}`);
  const lines: string[] = [];
  const notes: string[] = [];
  const needs: { bundle: string; needed: string }[] = [];
  const apis: { bundle: string; api: string }[] = [];
  const provided = new Set<string>();
  for (const [name, metas] of byPackage) {
    const subset = name === "" ? { metas, notes: [] } : subsetPackage(metas, name, selection);
    notes.push(...subset.notes);
    for (const meta of subset.metas) {
      take(meta);
      needs.push(...neededPackages(meta).map((needed) => ({ bundle: meta.name, needed })));
      apis.push(...neededApis(meta).map((api) => ({ bundle: meta.name, api })));
      for (const api of providedApis(meta)) provided.add(api);
      lines.push(`${canonicalJson(meta.blob)}\n`);
    }
  }
  for (const { bundle, needed } of needs)
    if (!byPackage.has(needed)) notes.push(`${bundle} needs package ${goQuote(needed)}, which is not mirrored`);
  for (const { bundle, api } of apis) {
    if (provided.has(api)) continue;
    const packages = [...(suppliers.get(api) ?? [])].sort().map(goQuote).join(", ");
    const where = packages === "" ? "and no bundle of the catalog does" : `though bundles of ${packages} do`;
    notes.push(`${bundle} needs API ${api}, which nothing that is mirrored provides, ${where}`);
  }
  const text = lines.join("");
  const { refusal } = await checkCatalog(sourceOf(text));
  if (refusal !== undefined) notes.push(`that part of the catalog is not valid: ${refusal}`);
  return { images, bundles, text, notes };
}

async function* sourceOf(text: string): AsyncGenerator<CatalogSource> {
  yield await Promise.resolve({ path: "catalog.json", bytes: Readable.from([Buffer.from(text)]) });
}

async function* metasIn(source: string): AsyncGenerator<Meta> {
  for (const { path, location } of await filesOf(source)) yield* decodeMetas(createReadStream(location) as AsyncIterable<Uint8Array>, path);
}

/** What names no package goes along with all of them. */
function isWanted({ packages }: Selection, name: string): boolean {
  return packages === undefined || name === "" || packages.has(name);
}
