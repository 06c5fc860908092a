import { destinationOf, type MirroredImage } from "./mirroredImages.ts";

/** `mapping.txt`: a line `source=destination` for each image, as `oc image mirror -f` reads it. @see requirements S0-109 */
export function mappingText(images: readonly MirroredImage[]): string {
  return images.map((image) => mappingLine(image.source, destinationOf(image))).join("");
}

/** One line of it. */
export function mappingLine(source: string, destination: string): string {
  return `${source}=${destination}\n`;
}

/** `images.txt`: the sources, one a line. */
export function imagesText(images: readonly MirroredImage[]): string {
  return images.map(({ source }) => `${source}\n`).join("");
}
