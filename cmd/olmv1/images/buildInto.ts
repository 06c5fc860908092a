import { buildImage, type ImageParts } from "../../../pkg/oci/publish/buildImage.ts";
import { copyImage } from "../../../pkg/oci/publish/copyImage.ts";
import type { ImagePlace } from "../../../pkg/oci/imagePlace.ts";
import type { ImageStores } from "../../../pkg/oci/store/imageStores.ts";
import { type ImageReport, imageReport } from "./imageReport.ts";

/** Builds an image and puts it where it is to be: into a layout, or straight into a registry. @throws Error of the files, or of the registry. */
export async function buildInto(stores: ImageStores, place: ImagePlace, parts: ImageParts, signal: AbortSignal): Promise<ImageReport> {
  const scratch = await stores.scratch();
  const { manifest } = await buildImage(scratch, "", parts, signal);
  const tag = tagOf(place);
  const { fate } = await stores.writing(place, signal, (writer) => copyImage(scratch, manifest, writer, { tag, signal }));
  return imageReport(place, manifest, fate === "present");
}

/** The tag that an image gets at a place; "" of a layout for none. */
export function tagOf(place: ImagePlace): string {
  return place.kind === "registry" ? (place.ref.tag ?? "latest") : place.tag;
}
