import type { CatalogSource } from "../../../pkg/catalogd/load/checkCatalog.ts";

/** Texts by path as files of a catalog that is checked before it is written. */
export async function* textSources(files: ReadonlyMap<string, string>): AsyncGenerator<CatalogSource> {
  for (const [path, text] of files) yield await Promise.resolve({ path, bytes: bytesOf(text) });
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}
