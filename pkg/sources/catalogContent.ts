import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { findCatalogFiles } from "../catalogd/load/catalogFiles.ts";
import { CONTENT_LIMITS } from "../catalogd/load/loader.ts";
import { wrapError } from "../errors/errors.ts";
import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { getPackageName, selectPackage } from "../fbc/content.ts";
import { decodeMetas } from "../fbc/decode.ts";
import { ContentError, type FbcBundle, type Meta, type PackageContent } from "../fbc/types.ts";
import { listCandidates, listEntryNames, parseBundleVersion } from "../resolve/candidates.ts";
import { resolve } from "../resolve/resolve.ts";
import { type Constraint, parseConstraint } from "../version/masterminds.ts";
import { formatVersionRelease } from "../version/version.ts";

/** The selected versions of a package. */
export interface VersionChoice {
  packageName: string;
  /** Version range; if absent, the default version of a new installation. */
  version?: string | undefined;
  channels: readonly string[];
}

/** Maximum number of bundles whose permissions are merged. A range with more bundles is probably a mistake. */
const MAX_VERSIONS = 100;

/** Reads one package from the catalog in a folder or file. Skips other packages. */
export async function readPackage(source: string, packageName: string): Promise<PackageContent> {
  const metas: Meta[] = [];
  for (const { path, location } of await listCatalogFiles(source)) {
    const bytes = createReadStream(location) as AsyncIterable<Uint8Array>;
    for await (const meta of decodeMetas(bytes, path)) if (getPackageName(meta) === packageName) metas.push(meta);
  }
  return selectPackage(metas, packageName);
}

/** Returns the files in a catalog folder, or `source` if it is a file. `path` is the name for messages. */
export async function listCatalogFiles(source: string): Promise<Iterable<{ readonly path: string; readonly location: string }>> {
  const isFile = (await stat(source)).isFile();
  return isFile ? [{ path: basename(source), location: source }] : findCatalogFiles(source, CONTENT_LIMITS);
}

/** Returns the selected bundles, highest version first. @throws Error if no bundle or too many bundles are selected */
export function selectBundles(content: PackageContent, choice: VersionChoice): FbcBundle[] {
  const { packageName, version, channels } = choice;
  if (version === undefined) {
    const source = { packageName, channels: [...channels] };
    const resolution = resolve({ source, catalogs: [{ name: "catalog", priority: 0, labels: {}, content }] });
    if (resolution.kind === "unresolved") throw new Error(resolution.message);
    return [resolution.bundle];
  }
  const range = rangeFrom(version);
  const names = listEntryNames(content.channels.filter(({ name }) => channels.includes(name)));
  const found = listCandidates(content, new Set())
    .filter(({ bundle }) => channels.length === 0 || names.has(bundle.name))
    .filter((candidate) => candidate.version !== undefined && range.contains(candidate.version.version))
    .sort(compareNewestFirst)
    .map(({ bundle }) => bundle);
  if (found.length > MAX_VERSIONS)
    throw new Error(`too many versions of package "${packageName}" in range "${version}": ${found.length}, maximum ${MAX_VERSIONS}`);
  if (found.length === 0) throw new Error(createNotFoundError(content, choice));
  return found;
}

function rangeFrom(version: string): Constraint {
  try {
    return parseConstraint(version);
  } catch (err) {
    throw wrapError(`desired version range "${version}" is invalid: `, err);
  }
}

function createNotFoundError(content: PackageContent, { packageName, version, channels }: VersionChoice): string {
  const where = channels.length > 0 ? ` in channels [${channels.join(" ")}]` : "";
  const candidates = listCandidates(content, new Set()).sort(compareNewestFirst);
  const highest = candidates[0]?.version
    ? `; the highest version in the package is ${formatVersionRelease(parseBundleVersion(candidates[0].bundle))}`
    : "";
  const there = content.bundles.length === 0 ? "; the catalog does not contain the package" : highest;
  return `no bundles found for package "${packageName}" matching version "${version}"${where}${there}`;
}

const PIECE = 1024 * 1024;

/** Yields the metas of the catalog in a folder or file. @throws ContentError if a file is invalid */
export async function* readCatalogMetas(source: string): AsyncGenerator<Meta> {
  let metas = 0;
  for (const { path, location } of await listCatalogFiles(source)) {
    const bytes = createReadStream(location, { highWaterMark: PIECE }) as AsyncIterable<Uint8Array>;
    for await (const meta of decodeMetas(bytes, path)) {
      metas++;
      yield meta;
    }
  }
  if (metas === 0) throw new ContentError({ file: source }, "not an object of a file-based catalog");
}

/** Returns the SHA-256 (hex) over the names and contents of the files of a catalog in a folder or file. */
export async function digestFiles(source: string): Promise<string> {
  const hash = createHash("sha256");
  for (const { path, location } of await listCatalogFiles(source)) {
    const own = createHash("sha256");
    for await (const piece of createReadStream(location, { highWaterMark: PIECE }) as AsyncIterable<Uint8Array>) own.update(piece);
    hash.update(`${JSON.stringify(path)} ${own.digest("hex")}\n`);
  }
  return hash.digest("hex");
}
