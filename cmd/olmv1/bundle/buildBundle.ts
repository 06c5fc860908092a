import { Readable } from "node:stream";
import { ANNOTATIONS_FILE, annotationLabels } from "../../../pkg/bundle/annotations.ts";
import type { BundleFiles } from "../../../pkg/bundle/types.ts";
import type { ImageParts } from "../../../pkg/oci/publish/buildImage.ts";
import type { Metadata } from "../catalog/buildCatalog.ts";

/**
 * What the image of a bundle is made of: the files of its manifests and metadata, and as labels what its annotations say, which come before those given.
 * @param files as `readBundleFiles` gives them
 * @throws Error where there are no annotations, or none that can be read.
 */
export function bundleParts(files: BundleFiles, { labels, annotations }: Metadata): ImageParts {
  const stated = files.get(ANNOTATIONS_FILE);
  if (!stated) throw new Error(`there is no ${ANNOTATIONS_FILE}, which says what the bundle is`);
  const archived = [...files].map(([path, bytes]) => ({ path, size: bytes.byteLength, open: () => Readable.from([bytes]) }));
  return { files: archived, labels: { ...labels, ...annotationLabels(stated) }, annotations };
}
