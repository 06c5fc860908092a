import { setImmediate as nextTurn } from "node:timers/promises";
import type { SearchRecord } from "../../fbc/summary/search.ts";
import type { CatalogContent } from "../store/content.ts";
import type { StoredArtifact } from "../store/storedArtifact.ts";
import { prepareSearchedPackage, type SearchedPackage } from "./searchQuery.ts";

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/**
 * Yields the lines of an artifact without their newlines. The caller must hold the artifact during
 * the iteration. @throws Error if the file is truncated.
 */
async function* artifactLines({ file, index }: StoredArtifact): AsyncGenerator<string> {
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let begun: Buffer[] = [];
  for (let position = 0; position < index.bytes; ) {
    const { bytesRead } = await file.handle.read(chunk, 0, Math.min(CHUNK_BYTES, index.bytes - position), position);
    if (bytesRead === 0) throw new Error("the content file is shorter than recorded in its index");
    position += bytesRead;
    const read = chunk.subarray(0, bytesRead);
    let start = 0;
    for (let end = read.indexOf(NEWLINE); end >= 0; end = read.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...begun, read.subarray(start, end)]).toString("utf8");
      begun = [];
      start = end + 1;
    }
    if (start < read.length) begun.push(Buffer.from(read.subarray(start)));
  }
}

/**
 * Index limits for one catalog. Packages beyond a limit are not searched. Real catalogs have up to
 * 807 packages, 13,222 bundles and 4 million characters, with up to 40,000 characters in one
 * package.
 */
export interface SearchLimits {
  packages: number;
  versions: number;
  characters: number;
  charactersOfPackage: number;
}

const MEGA = 1024 * 1024;
/** Default index limits for one catalog. */
export const SEARCH_LIMITS: SearchLimits = { packages: 20_000, versions: 200_000, characters: 32 * MEGA, charactersOfPackage: 2 * MEGA };

/** The packages of one content, sorted by name. */
export interface SearchIndex {
  readonly packages: readonly SearchedPackage[];
  /** True if the catalog exceeds the index limits. */
  readonly incomplete: boolean;
}

/** The search index of each content, which is read on first use and released together with the content. */
export class SearchIndexes {
  readonly #limits: SearchLimits;
  readonly #indexes = new WeakMap<CatalogContent, Promise<SearchIndex>>();

  constructor(limits: SearchLimits = SEARCH_LIMITS) {
    this.#limits = limits;
  }

  /** @throws Error if the content cannot be read; the next call retries. */
  of(content: CatalogContent): Promise<SearchIndex> {
    const known = this.#indexes.get(content);
    if (known) return known;
    content.hold();
    const reading = this.#read(content).finally(() => content.release());
    this.#indexes.set(content, reading);
    reading.catch(() => this.#indexes.delete(content));
    return reading;
  }

  async #read(content: CatalogContent): Promise<SearchIndex> {
    const artifact = content.artifacts.get("search");
    const limits = this.#limits;
    const packages: SearchedPackage[] = [];
    let versions = 0;
    let characters = 0;
    let incomplete = false;
    if (!artifact) return { packages, incomplete: true };
    for await (const line of artifactLines(artifact)) {
      if (line.length > limits.charactersOfPackage) {
        incomplete = true;
        continue;
      }
      const one = prepareSearchedPackage(JSON.parse(line) as SearchRecord);
      versions += one.versions.length;
      characters += line.length;
      if (packages.length === limits.packages || versions > limits.versions || characters > limits.characters)
        return { packages, incomplete: true };
      packages.push(one);
      await nextTurn();
    }
    return { packages, incomplete };
  }
}
