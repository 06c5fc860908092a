import { createReadStream } from "node:fs";
import { messageOf } from "../../errors/errors.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import { ContentError, type ContentPlace, type PlacedMeta } from "../../fbc/types.ts";
import { CatalogCheck, type CatalogCounts, type CheckResult } from "../../fbc/validate/catalogCheck.ts";
import { opmError } from "../../fbc/validate/finding.ts";
import { catalogFiles } from "./catalogFiles.ts";
import { CONTENT_LIMITS } from "./loader.ts";

/** One file of a catalog: its path with slashes below the catalog's root, and its bytes. */
export interface CatalogFileSource {
  readonly path: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Why a file, or the whole catalog, cannot be read. */
export interface ReadFault {
  readonly message: string;
  /** Absent where it is about the catalog as a whole. */
  readonly place?: ContentPlace;
}

/** What strict checking of a catalog found. */
export interface CheckedCatalog extends CheckResult {
  counts: CatalogCounts;
  /** What cannot be read. Where there is something, how the objects go together was not looked at. */
  faults: ReadFault[];
  /** The text with which opm, or the reading, refuses the catalog; undefined where nothing is wrong but warnings. */
  refusal: string | undefined;
}

/**
 * Reads and checks the catalog in a folder as catalogd in Strict mode does, but tells everything that is wrong at once.
 * @throws Error when the folder cannot be read, or holds more than catalogd takes.
 * @see operator-registry cmd/opm/validate
 */
export async function checkCatalogFolder(root: string, seen?: (meta: PlacedMeta) => void): Promise<CheckedCatalog> {
  return checkCatalog(filesIn(root), seen);
}

/**
 * The same for files from elsewhere. Each is read before the next is taken.
 * @param seen is given each object too.
 * @throws what taking them throws, unless it is a ContentError.
 */
export async function checkCatalog(files: AsyncIterable<CatalogFileSource>, seen?: (meta: PlacedMeta) => void): Promise<CheckedCatalog> {
  const check = new CatalogCheck();
  const faults: ReadFault[] = [];
  const options = { maxDocumentBytes: CONTENT_LIMITS.documentBytes, onEmpty: (place: ContentPlace) => check.addEmpty(place) };
  try {
    for await (const { path, bytes } of files) {
      try {
        for await (const meta of decodeMetas(bytes, path, options)) {
          check.add(meta);
          seen?.(meta);
        }
      } catch (err) {
        faults.push(faultOf(err));
      }
    }
  } catch (err) {
    if (!(err instanceof ContentError)) throw err; // it is not the catalog's
    faults.push(faultOf(err));
  }
  const result = faults.length > 0 ? check.findings : check.end();
  return { ...result, counts: check.counts, faults, refusal: faults[0]?.message ?? opmError(result.findings) };
}

function faultOf(err: unknown): ReadFault {
  return err instanceof ContentError ? { message: err.message, place: err.place } : { message: messageOf(err) };
}

// oxlint-disable-next-line require-await -- an error of the walk belongs to the iteration
async function* filesIn(root: string): AsyncGenerator<CatalogFileSource> {
  for (const { path, location } of catalogFiles(root, CONTENT_LIMITS)) {
    yield { path, bytes: createReadStream(location) as AsyncIterable<Uint8Array> };
  }
}
