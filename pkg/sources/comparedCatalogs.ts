import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { ComparedCatalog } from "../authoring/diff/comparedCatalog.ts";
import { decodeMetas } from "../fbc/decode.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { listCatalogFiles } from "./catalogContent.ts";

/** Reads the compared parts of the catalog in a folder or file. */
export async function readComparedCatalog(source: string, signal?: AbortSignal): Promise<ComparedCatalog> {
  const catalog = new ComparedCatalog();
  for (const { path, location } of await listCatalogFiles(source)) {
    for await (const meta of decodeMetas(createReadStream(location) as AsyncIterable<Uint8Array>, path)) {
      signal?.throwIfAborted();
      catalog.add(meta, hash);
    }
  }
  return catalog;
}

function hash(value: unknown): string {
  return createHash("sha256")
    .update(encodeCanonicalJson(value ?? null))
    .digest("base64");
}
