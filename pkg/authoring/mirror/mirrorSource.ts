import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { type ImageName, normalizedImageName } from "../../api/imageName.ts";
import { type CatalogFileSource, checkCatalog } from "../../catalogd/load/checkCatalog.ts";
import { packageOf } from "../../fbc/content.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import type { Meta } from "../../fbc/types.ts";
import { canonicalJson } from "../../golang/json.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatImagePlace, type LayoutPlace, layoutNamed, parsePlace } from "../../oci/imagePlace.ts";
import { formatCanonical } from "../../oci/reference.ts";
import type { ImageStores } from "../../oci/store/imageStores.ts";
import { nameIn, namesText } from "../../oci/store/layoutIndex.ts";
import type { LayoutStore } from "../../oci/store/layoutStore.ts";
import { type BundleReader, isDirectory } from "../../sources/bundleReader.ts";
import { filesOf } from "../../sources/catalogContent.ts";
import { catalogNameFor } from "../../sources/catalogNames.ts";
import { imagesOf, listProvidedApis, neededApis, neededPackages } from "./bundleReferences.ts";
import { carriedImage, destinationOf, type MirroredImage, type MirrorTarget, mirroredImage } from "./mirroredImages.ts";
import { type CatalogSelection, subsetPackage } from "./subset.ts";

/** What a layout that is carried from one registry to another notes beside its catalog. */
interface CarriedCatalog {
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
function carriedCatalogOf(annotations: Readonly<Record<string, string>> = {}): CarriedCatalog | undefined {
  const source = annotations[SOURCE];
  return source === undefined ? undefined : { source, isWhole: annotations[CONTENT] === "whole" };
}

/** What a mirror needs of a catalog. */
interface MirroredCatalog {
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
export async function mirroredCatalog(source: string, selection: CatalogSelection | undefined): Promise<MirroredCatalog> {
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
    if (selection) for (const api of listProvidedApis(meta)) suppliers.set(api, (suppliers.get(api) ?? new Set()).add(packageOf(meta)));
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
      for (const api of listProvidedApis(meta)) provided.add(api);
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

async function* sourceOf(text: string): AsyncGenerator<CatalogFileSource> {
  yield await Promise.resolve({ path: "catalog.json", bytes: Readable.from([Buffer.from(text)]) });
}

async function* metasIn(source: string): AsyncGenerator<Meta> {
  for (const { path, location } of await filesOf(source)) yield* decodeMetas(createReadStream(location) as AsyncIterable<Uint8Array>, path);
}

/** What names no package goes along with all of them. */
function isWanted({ packages }: CatalogSelection, name: string): boolean {
  return packages === undefined || name === "" || packages.has(name);
}

/** Where a catalog is mirrored to: a registry, or a layout that is carried to where the registry is. */
export type MirrorGoal = MirrorTarget | { readonly layout: string };

/** A catalog as it is to be mirrored. */
export interface MirrorPlan {
  /** where its files are */
  readonly dir: string;
  readonly content: MirroredCatalog;
  /** where the catalog goes */
  readonly catalog: MirroredImage;
  /** The image that was read, by digest; undefined where one is built in the mirror, of a folder or of a part of a catalog. */
  readonly pinned: string | undefined;
  /** Whether clusters know the catalog by the name of its source, so that rules are about it too. */
  readonly isNamed: boolean;
  /** What objects are called that nobody named. */
  readonly name: string;
  /** The layout that carries all images; undefined where each is in its registry. */
  readonly carried: LayoutStore | undefined;
}

/**
 * Reads a catalog, at the digest that its tag names now, so that what is copied is what was read.
 * @param source folder or image; a layout that `olmv1 catalog mirror` wrote has the images too
 * @throws Error where it cannot be read.
 */
export async function planMirror(
  { source, target, selection }: { source: string; target: MirrorGoal; selection: CatalogSelection | undefined },
  stores: ImageStores,
  reader: BundleReader,
  signal: AbortSignal,
): Promise<MirrorPlan> {
  const goes = (ref: ImageName): MirroredImage => ("layout" in target ? carriedImage(ref) : mirroredImage(ref, target));
  const name = catalogNameFor(source);
  const local = { registry: "localhost", repository: name, tag: "latest" };
  const layout = await layoutNamed(source);
  if (layout) return layoutPlan(layout, { goes, local, selection }, stores, reader, signal);
  if (await isDirectory(source)) {
    const content = await mirroredCatalog(source, selection);
    return { dir: source, content, catalog: { ...goes(local), source }, pinned: undefined, isNamed: false, name, carried: undefined };
  }
  const place = parsePlace(source);
  if (place.kind !== "registry") throw new Error(`${source} is in no registry`);
  const { ref } = place;
  const pinned = formatCanonical(ref, (await stores.find(place, signal)).manifest.digest);
  const dir = await reader.catalogFolder(pinned);
  const content = await mirroredCatalog(dir, selection);
  const isWhole = content.text === undefined;
  return { dir, content, catalog: goes(ref), pinned: isWhole ? pinned : undefined, isNamed: isWhole, name, carried: undefined };
}

async function layoutPlan(
  place: LayoutPlace,
  {
    goes,
    local,
    selection,
  }: { goes: (ref: ImageName) => MirroredImage; local: ImageName & { repository: string }; selection: CatalogSelection | undefined },
  stores: ImageStores,
  reader: BundleReader,
  signal: AbortSignal,
): Promise<MirrorPlan> {
  const layout = await stores.opened(place, signal);
  const found = await carriedIn(layout, place);
  const digest = found?.digest ?? (await layout.manifest(place.tag, signal)).digest;
  const pinned = formatImagePlace({ ...place, tag: digest });
  const dir = await reader.catalogFolder(pinned);
  const content = await mirroredCatalog(dir, selection);
  const ref = found ? normalizedImageName(found.source) : local;
  if (typeof ref === "string") throw new Error(`${layout.name} does not say of which catalog it is: ${ref}`);
  const isWhole = content.text === undefined;
  return {
    dir,
    content,
    catalog: goes(ref),
    pinned: isWhole ? pinned : undefined,
    isNamed: isWhole && found?.isWhole === true,
    name: found ? catalogNameFor(found.source) : local.repository,
    carried: found && layout,
  };
}

/** The catalog that a layout carries; undefined for a layout that carries none. @throws Error where it carries several, and none is chosen */
async function carriedIn(layout: LayoutStore, { tag }: LayoutPlace): Promise<(CarriedCatalog & { digest: string }) | undefined> {
  const all = await layout.entries();
  const catalogs = all.filter(({ annotations }) => carriedCatalogOf(annotations));
  const chosen = tag === "" ? catalogs : catalogs.filter((entry) => nameIn(entry) === tag || entry.digest === tag);
  const [entry, ...others] = chosen;
  if (others.length > 0) throw new Error(`${layout.name} carries several catalogs: name one behind a colon${namesText(chosen)}`);
  const carried = entry && carriedCatalogOf(entry.annotations);
  return carried && { ...carried, digest: entry.digest };
}

/** The mirrored catalog as a ClusterCatalog names it: by digest where its source is named so and is copied, else by tag. */
export function formatMirroredRef({ catalog, pinned }: MirrorPlan): string {
  return pinned !== undefined && catalog.digest !== undefined ? `${catalog.repository}@${catalog.digest}` : destinationOf(catalog);
}
