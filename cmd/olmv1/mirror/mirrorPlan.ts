import { goQuote } from "../../../pkg/errors/goQuote.ts";
import { destinationOf, type MirroredImage, type MirrorTarget, mirroredImage } from "../../../pkg/mirror/mirroredImages.ts";
import type { Selection } from "../../../pkg/mirror/selection.ts";
import { canonical } from "../../../pkg/oci/reference.ts";
import { parsePlace } from "../../../pkg/oci/store/imagePlace.ts";
import type { ImageStores } from "../../../pkg/oci/store/imageStores.ts";
import { catalogNameFor } from "../catalog/catalogName.ts";
import { type BundleReader, isDirectory } from "../rbac/bundleReader.ts";
import { type MirroredCatalog, mirroredCatalog } from "./mirroredCatalog.ts";

/** A catalog as it is to be mirrored. */
export interface MirrorPlan {
  /** where its files are */
  readonly dir: string;
  readonly content: MirroredCatalog;
  /** where the catalog goes */
  readonly catalog: MirroredImage;
  /** The image that was read, by digest; undefined where one is built in the mirror, of a folder or of a part of a catalog. */
  readonly pinned: string | undefined;
}

/**
 * Reads a catalog, at the digest that its tag names now, so that what is copied is what was read.
 * @param source folder or image
 * @throws Error where it cannot be read.
 */
export async function planMirror(
  { source, target, selection }: { source: string; target: MirrorTarget; selection: Selection | undefined },
  stores: ImageStores,
  reader: BundleReader,
  signal: AbortSignal,
): Promise<MirrorPlan> {
  if (await isDirectory(source)) {
    const content = await mirroredCatalog(source, selection);
    const ref = { registry: "localhost", repository: catalogNameFor(source), tag: "latest" };
    return { dir: source, content, catalog: { ...mirroredImage(ref, target), source }, pinned: undefined };
  }
  const place = parsePlace(source);
  if (place.kind !== "registry") throw new Error(`${goQuote(source)} is a layout: push it to a registry first, with olmv1 catalog push`);
  const { ref } = place;
  const pinned = canonical(ref, (await stores.find(place, signal)).manifest.digest);
  const dir = await reader.catalogFolder(pinned);
  const content = await mirroredCatalog(dir, selection);
  return { dir, content, catalog: mirroredImage(ref, target), pinned: content.text === undefined ? pinned : undefined };
}

/** The mirrored catalog as a ClusterCatalog names it: by digest where its source is named so and is copied, else by tag. */
export function catalogRef({ catalog, pinned }: MirrorPlan): string {
  return pinned !== undefined && catalog.digest !== undefined ? `${catalog.repository}@${catalog.digest}` : destinationOf(catalog);
}
