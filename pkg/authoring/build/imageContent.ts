import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { ANNOTATIONS_FILE, toImageLabels } from "../../bundle/annotations.ts";
import type { BundleFiles } from "../../bundle/types.ts";
import { findCatalogFiles } from "../../catalogd/load/catalogFiles.ts";
import { type CheckedCatalog, checkCatalogFolder } from "../../catalogd/load/checkCatalog.ts";
import { CONTENT_LIMITS } from "../../catalogd/load/loader.ts";
import { goQuote } from "../../golang/quote.ts";
import type { ImageParts } from "../../oci/publish/buildImage.ts";
import { CONFIG_DIR_LABEL } from "../../oci/pull/imageFilter.ts";

/**
 * Returns the parts of a bundle image: its files, and its annotations as labels. Annotations override given labels.
 * @param files from `readBundleFiles`
 * @throws Error if the annotations are missing or cannot be read.
 */
export function buildBundleParts(files: BundleFiles, { labels, annotations }: Metadata): ImageParts {
  const stated = files.get(ANNOTATIONS_FILE);
  if (!stated) throw new Error(`not a bundle: ${ANNOTATIONS_FILE} is missing`);
  const archived = [...files].map(([path, bytes]) => ({ path, size: bytes.byteLength, open: () => Readable.from([bytes]) }));
  return { files: archived, labels: { ...labels, ...toImageLabels(stated) }, annotations };
}

/** The folder of the catalog in a catalog image. */
const CONFIGS = "configs";

/** Labels and annotations of an image. */
interface Metadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Returns the parts of a catalog image: the files in a folder, except files that `.indexignore` excludes, and the label with their location.
 * @throws Error if the folder does not exist, or if a symbolic link points outside of it.
 */
export function buildCatalogParts(dir: string, { labels, annotations }: Metadata): ImageParts {
  const files = findCatalogFiles(dir, CONTENT_LIMITS).map(({ path, location, bytes }) => ({
    path: `${CONFIGS}/${path}`,
    size: bytes,
    open: () => createReadStream(location) as AsyncIterable<Uint8Array>,
  }));
  if (files.length === 0) throw new Error(`${goQuote(dir)} contains no catalog files`);
  return { files, labels: { ...labels, [CONFIG_DIR_LABEL]: `/${CONFIGS}` }, annotations };
}

/**
 * Checks the catalog in a folder. Returns the check result if opm would reject the catalog; otherwise undefined.
 * @throws Error if the folder does not exist.
 */
export async function findRejectedCatalog(dir: string): Promise<CheckedCatalog | undefined> {
  if (!(await stat(dir).catch(() => undefined))?.isDirectory()) throw new Error(`${goQuote(dir)} is not a directory`);
  const checked = await checkCatalogFolder(dir);
  return checked.refusal === undefined ? undefined : checked;
}
