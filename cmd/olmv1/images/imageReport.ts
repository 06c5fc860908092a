import { nameOf } from "../../../pkg/oci/reference.ts";
import { type ImagePlace, placeText } from "../../../pkg/oci/imagePlace.ts";

/** An image that is where it was to be, for people and programs. */
export interface ImageReport {
  /** by digest, such as "quay.io/team/catalog@sha256:…"; of a layout the layout, a "@" and the digest */
  readonly image: string;
  /** as it was asked for, by tag */
  readonly reference: string;
  readonly digest: string;
  readonly mediaType: string;
  /** whether it was there before */
  readonly present: boolean;
}

/** The report of an image at a place. */
export function imageReport(place: ImagePlace, image: { digest: string; mediaType: string }, present: boolean): ImageReport {
  const { digest, mediaType } = image;
  const name = place.kind === "registry" ? nameOf(place.ref) : placeText({ ...place, tag: "" });
  return { image: `${name}@${digest}`, reference: placeText(place), digest, mediaType, present };
}
