import { createReadStream } from "node:fs";
import { getErrorMessage } from "../../errors/errors.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import { ContentError, type ContentPlace, type PlacedMeta } from "../../fbc/types.ts";
import { CatalogCheck, type CatalogCounts, type CheckResult } from "../../fbc/validate/catalogCheck.ts";
import { formatOpmError } from "../../fbc/validate/finding.ts";
import { findCatalogFiles } from "./catalogFiles.ts";
import { CONTENT_LIMITS } from "./loader.ts";

/** One file of a catalog: the path relative to the catalog's root, with slashes, and the bytes. */
export interface CatalogFileSource {
  readonly path: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** The reason why a file or the whole catalog cannot be read. */
export interface UnreadableFile {
  readonly message: string;
  /** The file; absent if the problem concerns the whole catalog. */
  readonly place?: ContentPlace;
}

/** Result of strict validation of a catalog. */
export interface CheckedCatalog extends CheckResult {
  counts: CatalogCounts;
  /** Files that cannot be read. If there are any, relations between objects were not checked. */
  faults: UnreadableFile[];
  /**
   * The error of opm or the reader that rejects the catalog; undefined if there are only
   * warnings or no findings.
   */
  refusal: string | undefined;
}

/**
 * Reads and checks the catalog in a folder like catalogd with Strict validation, but reports all
 * problems at once.
 * @throws Error if the folder cannot be read or exceeds the limits of catalogd.
 * @see operator-registry cmd/opm/validate
 */
export async function checkCatalogFolder(root: string, seen?: (meta: PlacedMeta) => void): Promise<CheckedCatalog> {
  return checkCatalog(readFiles(root), seen);
}

/**
 * Like `checkCatalogFolder`, for files from any source. Checks each file before requesting the next
 * one.
 * @param seen called with each object.
 * @throws any error of the source that is not a ContentError.
 */
export async function checkCatalog(files: AsyncIterable<CatalogFileSource>, seen?: (meta: PlacedMeta) => void): Promise<CheckedCatalog> {
  const check = new CatalogCheck();
  const faults: UnreadableFile[] = [];
  const options = { maxDocumentBytes: CONTENT_LIMITS.documentBytes, onEmpty: (place: ContentPlace) => check.addEmpty(place) };
  try {
    for await (const { path, bytes } of files) {
      try {
        for await (const meta of decodeMetas(bytes, path, options)) {
          check.add(meta);
          seen?.(meta);
        }
      } catch (err) {
        faults.push(toReadFault(err));
      }
    }
  } catch (err) {
    if (!(err instanceof ContentError)) throw err; // not caused by the catalog
    faults.push(toReadFault(err));
  }
  const result = faults.length > 0 ? check.findings : check.end();
  return { ...result, counts: check.counts, faults, refusal: faults[0]?.message ?? formatOpmError(result.findings) };
}

function toReadFault(err: unknown): UnreadableFile {
  return err instanceof ContentError ? { message: err.message, place: err.place } : { message: getErrorMessage(err) };
}

// oxlint-disable-next-line require-await -- an error of the directory walk must occur in the
// iteration
async function* readFiles(root: string): AsyncGenerator<CatalogFileSource> {
  for (const { path, location } of findCatalogFiles(root, CONTENT_LIMITS)) {
    yield { path, bytes: createReadStream(location) as AsyncIterable<Uint8Array> };
  }
}
