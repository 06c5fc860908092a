import { type ImageName, normalizedImageName } from "../../../pkg/api/imageName.ts";
import { type CarriedCatalog, carriedCatalogOf } from "../../../pkg/authoring/mirror/carriedCatalog.ts";
import { type MirrorTarget, type MirroredImage, carriedImage, destinationOf, mirroredImage } from "../../../pkg/authoring/mirror/mirroredImages.ts";
import type { Selection } from "../../../pkg/authoring/mirror/subset.ts";
import { type LayoutPlace, layoutNamed, parsePlace, placeText } from "../../../pkg/oci/imagePlace.ts";
import { canonical } from "../../../pkg/oci/reference.ts";
import type { ImageStores } from "../../../pkg/oci/store/imageStores.ts";
import { nameIn, namesText } from "../../../pkg/oci/store/layoutIndex.ts";
import type { LayoutStore } from "../../../pkg/oci/store/layoutStore.ts";
import { catalogNameFor } from "../catalog/catalogName.ts";
import { type BundleReader, isDirectory } from "../rbac/bundleReader.ts";
import { type MirroredCatalog, mirroredCatalog } from "./mirroredCatalog.ts";

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
  { source, target, selection }: { source: string; target: MirrorGoal; selection: Selection | undefined },
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
  const pinned = canonical(ref, (await stores.find(place, signal)).manifest.digest);
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
  }: { goes: (ref: ImageName) => MirroredImage; local: ImageName & { repository: string }; selection: Selection | undefined },
  stores: ImageStores,
  reader: BundleReader,
  signal: AbortSignal,
): Promise<MirrorPlan> {
  const layout = await stores.opened(place, signal);
  const found = await carriedIn(layout, place);
  const digest = found?.digest ?? (await layout.manifest(place.tag, signal)).digest;
  const pinned = placeText({ ...place, tag: digest });
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
export function catalogRef({ catalog, pinned }: MirrorPlan): string {
  return pinned !== undefined && catalog.digest !== undefined ? `${catalog.repository}@${catalog.digest}` : destinationOf(catalog);
}
