import { decodeMetas } from "../../../pkg/fbc/decode.ts";
import { ContentError, type Meta } from "../../../pkg/fbc/types.ts";
import { filesOf } from "../rbac/catalogPackage.ts";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

const PIECE = 1024 * 1024;

/** The metas of the catalog in a folder or file, one after another. @throws ContentError where a file cannot be read as one. */
export async function* catalogMetas(source: string): AsyncGenerator<Meta> {
  let metas = 0;
  for (const { path, location } of await filesOf(source)) {
    const bytes = createReadStream(location, { highWaterMark: PIECE }) as AsyncIterable<Uint8Array>;
    for await (const meta of decodeMetas(bytes, path)) {
      metas++;
      yield meta;
    }
  }
  if (metas === 0) throw new ContentError({ file: source }, "no object of a file-based catalog");
}

/** SHA-256, as hex, of names and contents of the files of the catalog in a folder or file. */
export async function filesDigest(source: string): Promise<string> {
  const hash = createHash("sha256");
  for (const { path, location } of await filesOf(source)) {
    const own = createHash("sha256");
    for await (const piece of createReadStream(location, { highWaterMark: PIECE }) as AsyncIterable<Uint8Array>) own.update(piece);
    hash.update(`${JSON.stringify(path)} ${own.digest("hex")}\n`);
  }
  return hash.digest("hex");
}
