import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { catalogFiles } from "../../../pkg/catalogd/load/catalogFiles.ts";
import { type CheckedCatalog, checkCatalogFolder } from "../../../pkg/catalogd/load/checkCatalog.ts";
import { CONTENT_LIMITS } from "../../../pkg/catalogd/load/loader.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { CONFIG_DIR_LABEL } from "../../../pkg/oci/pull/imageFilter.ts";
import type { ImageParts } from "../../../pkg/oci/publish/buildImage.ts";

/** The folder of a catalog image in which the catalog lies. */
const CONFIGS = "configs";

/** What is put into an image beside the catalog. */
export interface Metadata {
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
