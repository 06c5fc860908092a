import { goQuote } from "../../../pkg/golang/quote.ts";
import { layoutNamed } from "../../../pkg/oci/imagePlace.ts";
import { type BundleReader, isDirectory } from "../rbac/bundleReader.ts";

/** No image begins so. */
const A_PATH = /^\.{0,2}\//;
/** A reference that says in which registry it is. */
const IMAGE = /^(?:localhost|[^/\s]*[.:][^/\s]*)\/\S+$/;

/**
 * The folder with the files of a catalog: `source` itself, or where the image of that name was unpacked.
 * @throws Error for what is neither.
 */
export async function catalogFolder(source: string, reader: Pick<BundleReader, "catalogFolder">): Promise<string> {
  if (await layoutNamed(source)) return reader.catalogFolder(source);
  if (await isDirectory(source)) return source;
  if (A_PATH.test(source)) throw new Error(`${goQuote(source)} is not a directory`);
  if (!IMAGE.test(source))
    throw new Error(`${goQuote(source)} is not a directory, nor an image with its registry, such as quay.io/example/catalog:latest`);
  return reader.catalogFolder(source);
}
