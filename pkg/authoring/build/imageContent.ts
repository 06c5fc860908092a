import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { ANNOTATIONS_FILE, annotationLabels } from "../../bundle/annotations.ts";
import type { BundleFiles } from "../../bundle/types.ts";
import { catalogFiles } from "../../catalogd/load/catalogFiles.ts";
import { type CheckedCatalog, checkCatalogFolder } from "../../catalogd/load/checkCatalog.ts";
import { CONTENT_LIMITS } from "../../catalogd/load/loader.ts";
import { goQuote } from "../../golang/quote.ts";
import type { ImageParts } from "../../oci/publish/buildImage.ts";
import { CONFIG_DIR_LABEL } from "../../oci/pull/imageFilter.ts";

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

/** The folder of a catalog image in which the catalog lies. */
const CONFIGS = "configs";

/** What is put into an image beside the catalog. */
interface Metadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * What the image of the catalog in a folder is made of: its files without those that an `.indexignore` excludes, and the label that says where they are.
 * @throws Error where there is no such folder; for a link that leaves it.
 */
export function catalogParts(dir: string, { labels, annotations }: Metadata): ImageParts {
  const files = catalogFiles(dir, CONTENT_LIMITS).map(({ path, location, bytes }) => ({
    path: `${CONFIGS}/${path}`,
    size: bytes,
    open: () => createReadStream(location) as AsyncIterable<Uint8Array>,
  }));
  if (files.length === 0) throw new Error(`${goQuote(dir)} holds no files of a catalog`);
  return { files, labels: { ...labels, [CONFIG_DIR_LABEL]: `/${CONFIGS}` }, annotations };
}

/** What is wrong with the catalog in a folder, if it is to be refused. @throws Error where there is no such folder. */
export async function refusedCatalog(dir: string): Promise<CheckedCatalog | undefined> {
  if (!(await stat(dir).catch(() => undefined))?.isDirectory()) throw new Error(`${goQuote(dir)} is not a directory`);
  const checked = await checkCatalogFolder(dir);
  return checked.refusal === undefined ? undefined : checked;
}
