import { copyImage } from "../../../pkg/oci/publish/copyImage.ts";
import { imageLabels } from "../../../pkg/oci/store/imageStore.ts";
import { type ImagePlace, placeText } from "../../../pkg/oci/imagePlace.ts";
import type { ImageStores } from "../../../pkg/oci/store/imageStores.ts";
import { tagOf } from "./buildInto.ts";
import { type ImageReport, imageReport } from "./imageReport.ts";

/** What an image has to be, told by a label. */
export interface Expected {
  /** such as "catalog" */
  readonly what: string;
  readonly label: string;
}

/**
 * Copies an image from one place to another, of several platforms all; its digest stays.
 * @param expected undefined where any image will do
 * @throws Error for an image that is something else; of either place.
 */
export async function pushInto(
  stores: ImageStores,
  request: { from: ImagePlace; to: ImagePlace; expected: Expected | undefined },
  signal: AbortSignal,
): Promise<ImageReport> {
  const { from, to, expected } = request;
  const { reader, manifest } = await stores.find(from, signal);
  if (expected && (await imageLabels(reader, manifest, signal))[expected.label] === undefined)
    throw new Error(`${placeText(from)} is no ${expected.what}: it has no label ${expected.label}; --force pushes it all the same`);
  const copied = await stores.writing(to, signal, (writer) => copyImage(reader, manifest, writer, { tag: tagOf(to), signal }));
  return imageReport(to, copied, copied.fate === "present");
}
