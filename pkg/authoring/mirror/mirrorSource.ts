import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { type ImageName, parseImageName } from "../../api/imageName.ts";
import { type CatalogFileSource, checkCatalog } from "../../catalogd/load/checkCatalog.ts";
import { getPackageName } from "../../fbc/content.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import type { Meta } from "../../fbc/types.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import { goQuote } from "../../golang/quote.ts";
import { findLayoutPlace, formatImagePlace, type LayoutPlace, parsePlace } from "../../oci/imagePlace.ts";
import { formatCanonical } from "../../oci/reference.ts";
import type { ImageStores } from "../../oci/store/imageStores.ts";
import { formatAvailableNames, getEntryName } from "../../oci/store/layoutIndex.ts";
import type { LayoutStore } from "../../oci/store/layoutStore.ts";
import { type BundleReader, isFolderSource } from "../../sources/bundleReader.ts";
import { listCatalogFiles } from "../../sources/catalogContent.ts";
import { deriveCatalogName } from "../../sources/catalogNames.ts";
import { listImages, listProvidedApis, listRequiredApis, listRequiredPackages } from "./bundleReferences.ts";
import { formatDestination, type MirroredImage, type MirrorTarget, mapCarriedImage, mapMirroredImage } from "./mirroredImages.ts";
import { type MirrorSelection, subsetPackage } from "./subset.ts";

/** The catalog in a layout that carries images from one registry to another. */
interface CarriedCatalog {
  /** The mirrored reference, such as "quay.io/team/catalog:v1". */
  readonly source: string;
  /** Whether the layout contains the original image. False if the image was built from a folder or from a part of the catalog. */
  readonly isWhole: boolean;
}

const SOURCE = "org.operatorframework.olmv1.mirror.catalog";
const CONTENT = "org.operatorframework.olmv1.mirror.content";

/** Returns the annotations that identify the catalog of a layout. */
export function selectAnnotations({ source, isWhole }: CarriedCatalog): Record<string, string> {
  return { [SOURCE]: source, [CONTENT]: isWhole ? "whole" : "built" };
}

/** Reads the annotations; undefined if they do not identify a catalog. */
function parseCarriedAnnotations(annotations: Readonly<Record<string, string>> = {}): CarriedCatalog | undefined {
  const source = annotations[SOURCE];
  return source === undefined ? undefined : { source, isWhole: annotations[CONTENT] === "whole" };
}

/** The parts of a catalog that a mirror needs. */
interface MirroredCatalog {
  /** References of all its images. */
  readonly images: ReadonlySet<string>;
  readonly bundles: number;
  /** The selected part of the catalog as JSON Lines; undefined for a whole catalog, which is copied unchanged. */
  readonly text: string | undefined;
  readonly notes: readonly string[];
}

/**
 * Reads the images of a catalog, or of the selected part.
 * @param source folder or file
 * @throws ContentError if the catalog cannot be read; Error if the selection is invalid or empty.
 */
export async function readMirroredCatalog(source: string, selection: MirrorSelection | undefined): Promise<MirroredCatalog> {
  const images = new Set<string>();
  const byPackage = new Map<string, Meta[]>();
  let bundles = 0;
  const addImages = (meta: Meta): void => {
    const own = listImages(meta);
    if (own.length > 0) bundles += 1;
    for (const image of own) images.add(image);
  };
  const providers = new Map<string, Set<string>>();
  for await (const meta of metasIn(source)) {
    if (selection)
      for (const api of listProvidedApis(meta)) providers.set(api, (providers.get(api) ?? new Set()).add(getPackageName(meta)));
    if (!selection) addImages(meta);
    else if (isSelected(selection, getPackageName(meta)) && !byPackage.get(getPackageName(meta))?.push(meta))
      byPackage.set(getPackageName(meta), [meta]);
  }
  if (!selection) return { images, bundles, text: undefined, notes: [] };
  const missing = [...(selection.packages ?? [])].filter((name) => !byPackage.has(name));
  if (missing.length > 0) throw new Error(`${source} does not contain package ${missing.map(goQuote).join(", ")}`);
  const lines: string[] = [];
  const notes: string[] = [];
  const requirements: { bundle: string; required: string }[] = [];
  const apis: { bundle: string; api: string }[] = [];
  const provided = new Set<string>();
  for (const [name, metas] of byPackage) {
    const subset = name === "" ? { metas, notes: [] } : subsetPackage(metas, name, selection);
    notes.push(...subset.notes);
    for (const meta of subset.metas) {
      addImages(meta);
      requirements.push(...listRequiredPackages(meta).map((required) => ({ bundle: meta.name, required })));
      apis.push(...listRequiredApis(meta).map((api) => ({ bundle: meta.name, api })));
      for (const api of listProvidedApis(meta)) provided.add(api);
      lines.push(`${encodeCanonicalJson(meta.blob)}\n`);
    }
  }
  for (const { bundle, required } of requirements)
    if (!byPackage.has(required)) notes.push(`${bundle} requires package ${goQuote(required)}, which is not mirrored`);
  for (const { bundle, api } of apis) {
    if (provided.has(api)) continue;
    const packages = [...(providers.get(api) ?? [])].sort().map(goQuote).join(", ");
    const where = packages === "" ? "no bundle in the catalog provides it" : `bundles of package ${packages} provide it`;
    notes.push(`${bundle} requires API ${api}, which no mirrored bundle provides; ${where}`);
  }
  const text = lines.join("");
  const { refusal } = await checkCatalog(sourceOf(text));
  if (refusal !== undefined) notes.push(`the selected part of the catalog is not valid: ${refusal}`);
  return { images, bundles, text, notes };
}

async function* sourceOf(text: string): AsyncGenerator<CatalogFileSource> {
  yield await Promise.resolve({ path: "catalog.json", bytes: Readable.from([Buffer.from(text)]) });
}

async function* metasIn(source: string): AsyncGenerator<Meta> {
  for (const { path, location } of await listCatalogFiles(source))
    yield* decodeMetas(createReadStream(location) as AsyncIterable<Uint8Array>, path);
}

/** Objects without a package are always selected. */
function isSelected({ packages }: MirrorSelection, name: string): boolean {
  return packages === undefined || name === "" || packages.has(name);
}

/** The destination of a catalog: a registry, or a layout that is carried to another network. */
export type MirrorGoal = MirrorTarget | { readonly layout: string };

/** The plan for mirroring a catalog. */
export interface MirrorPlan {
  /** Folder of its files. */
  readonly dir: string;
  readonly content: MirroredCatalog;
  /** Destination of the catalog. */
  readonly catalog: MirroredImage;
  /** The catalog image that was read, by digest; undefined if an image is built from a folder or from a part of a catalog. */
  readonly pinned: string | undefined;
  /** Whether clusters can reference the catalog by its source, so that mirror rules include it. */
  readonly isNamed: boolean;
  /** Default name of the objects. */
  readonly name: string;
  /** The layout that contains all images; undefined if they are in their registries. */
  readonly carried: LayoutStore | undefined;
}

/**
 * Reads a catalog and plans its mirror. Resolves a tag to a digest first, so that the copied catalog is the one that was read.
 * @param source folder or image; a layout from `olmv1 catalog mirror` also contains the images
 * @throws Error if the catalog cannot be read.
 */
export async function planMirror(
  { source, target, selection }: { source: string; target: MirrorGoal; selection: MirrorSelection | undefined },
  stores: ImageStores,
  reader: BundleReader,
  signal: AbortSignal,
): Promise<MirrorPlan> {
  const toMirrored = (ref: ImageName): MirroredImage => ("layout" in target ? mapCarriedImage(ref) : mapMirroredImage(ref, target));
  const name = deriveCatalogName(source);
  const local = { registry: "localhost", repository: name, tag: "latest" };
  const layout = await findLayoutPlace(source);
  if (layout) return planLayout(layout, { toMirrored, local, selection }, stores, reader, signal);
  if (await isFolderSource(source)) {
    const content = await readMirroredCatalog(source, selection);
    return { dir: source, content, catalog: { ...toMirrored(local), source }, pinned: undefined, isNamed: false, name, carried: undefined };
  }
  const place = parsePlace(source);
  if (place.kind !== "registry") throw new Error(`${source} is not in a registry`);
  const { ref } = place;
  const pinned = formatCanonical(ref, (await stores.find(place, signal)).manifest.digest);
  const dir = await reader.catalogImage(pinned);
  const content = await readMirroredCatalog(dir, selection);
  const isWhole = content.text === undefined;
  return { dir, content, catalog: toMirrored(ref), pinned: isWhole ? pinned : undefined, isNamed: isWhole, name, carried: undefined };
}

async function planLayout(
  place: LayoutPlace,
  {
    toMirrored,
    local,
    selection,
  }: { toMirrored: (ref: ImageName) => MirroredImage; local: ImageName & { repository: string }; selection: MirrorSelection | undefined },
  stores: ImageStores,
  reader: BundleReader,
  signal: AbortSignal,
): Promise<MirrorPlan> {
  const layout = await stores.opened(place, signal);
  const found = await findCarriedCatalog(layout, place);
  const digest = found?.digest ?? (await layout.manifest(place.tag, signal)).digest;
  const pinned = formatImagePlace({ ...place, tag: digest });
  const dir = await reader.catalogFolder(pinned);
  const content = await readMirroredCatalog(dir, selection);
  const ref = found ? parseImageName(found.source) : local;
  if (typeof ref === "string") throw new Error(`${layout.name} has an invalid annotation ${SOURCE}: ${ref}`);
  const isWhole = content.text === undefined;
  return {
    dir,
    content,
    catalog: toMirrored(ref),
    pinned: isWhole ? pinned : undefined,
    isNamed: isWhole && found?.isWhole === true,
    name: found ? deriveCatalogName(found.source) : local.repository,
    carried: found && layout,
  };
}

/**
 * Finds the catalog in a layout; undefined if the layout contains none.
 * @throws Error if the layout contains several and `tag` does not select one.
 */
async function findCarriedCatalog(layout: LayoutStore, { tag }: LayoutPlace): Promise<(CarriedCatalog & { digest: string }) | undefined> {
  const all = await layout.entries();
  const catalogs = all.filter(({ annotations }) => parseCarriedAnnotations(annotations));
  const chosen = tag === "" ? catalogs : catalogs.filter((entry) => getEntryName(entry) === tag || entry.digest === tag);
  const [entry, ...others] = chosen;
  if (others.length > 0)
    throw new Error(`${layout.name} contains several catalogs: append a colon and the name of one${formatAvailableNames(chosen)}`);
  const carried = entry && parseCarriedAnnotations(entry.annotations);
  return carried && { ...carried, digest: entry.digest };
}

/** Formats the reference of the mirrored catalog: by digest if the catalog is copied from a source with a digest, otherwise by tag. */
export function formatMirroredRef({ catalog, pinned }: MirrorPlan): string {
  return pinned !== undefined && catalog.digest !== undefined ? `${catalog.repository}@${catalog.digest}` : formatDestination(catalog);
}
