import { catalogFiles } from "../../../../pkg/catalogd/load/catalogFiles.ts";
import { CONTENT_LIMITS } from "../../../../pkg/catalogd/load/loader.ts";
import { packageContentsFrom } from "../../../../pkg/fbc/content.ts";
import { decodeMetas } from "../../../../pkg/fbc/decode.ts";
import { ContentError, type ContentPlace, type Meta } from "../../../../pkg/fbc/types.ts";
import { createReadStream } from "node:fs";

/**
 * The objects of the catalog in a folder, in the order of its files.
 * @throws ContentError or Error for what opm does not load: no YAML or JSON, an object without a schema, a member of the wrong kind.
 */
export async function catalogMetas(root: string): Promise<Meta[]> {
  const metas: Meta[] = [];
  for (const { path, location } of catalogFiles(root, CONTENT_LIMITS)) {
    metas.push(...(await metasFrom(createReadStream(location) as AsyncIterable<Uint8Array>, path)));
  }
  return metas;
}

/** The objects in one stream, checked in the same way. @param file names the stream in errors. */
export async function metasFrom(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, file: string): Promise<Meta[]> {
  const onEmpty = (place: ContentPlace): never => {
    throw new ContentError(place, "object '' is missing root schema field");
  };
  const metas: Meta[] = await Array.fromAsync(decodeMetas(chunks, file, { maxDocumentBytes: CONTENT_LIMITS.documentBytes, onEmpty }));
  packageContentsFrom(metas);
  return metas;
}
