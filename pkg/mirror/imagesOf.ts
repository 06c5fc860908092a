import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { packageContent, Schema } from "../fbc/content.ts";
import type { Meta } from "../fbc/types.ts";

/**
 * The images that a bundle's meta names: its own first, then the related ones.
 * @returns none for a meta of another schema. @throws Error that names a bundle that cannot be read.
 */
export function imagesOf(meta: Meta): string[] {
  if (meta.schema !== Schema.bundle) return [];
  try {
    return packageContent([meta], meta.package)
      .bundles.flatMap(({ image, relatedImages = [] }) => [image, ...relatedImages.map((related) => related.image)])
      .filter((image) => image !== "");
  } catch (err) {
    throw new Error(`images of bundle ${goQuote(meta.name)}: ${messageOf(err)}`, { cause: err });
  }
}
