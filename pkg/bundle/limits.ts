import { Reason } from "../api/constants.ts";
import { newProblem } from "../api/problems.ts";
import { TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { countValues, forEachMember } from "../golang/yamlDocument.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import type { BundleFiles } from "./types.ts";

const MIB = 1024 * 1024;

/**
 * Limits for bundles: ten times the size of the largest public bundles (105 files, 7 MB, 161,000 separators and 73,000 values; 47,000 separators in
 * one file, 23,000 values in one object). The limit of objects is lower, because the controller compares objects with each other.
 */
export const BUNDLE_LIMITS = {
  files: 2_000,
  bytes: 72 * MIB,
  /** Characters that separate values in YAML or JSON. Their number is an upper bound for the number of values that does not need parsing. */
  separators: 2_000_000,
  fileSeparators: 500_000,
  /** Size of `metadata/annotations.yaml`, which is read first. Real files have about 2,000 bytes. */
  annotationsBytes: MIB,
  annotationsSeparators: 20_000,
  /**
   * Separators in the metadata folder: more than in any real bundle as a whole, because a bundle can use the same folder for manifests and metadata.
   */
  metadataSeparators: 200_000,
  /** Maps, lists and scalars in manifests. The values of an alias count once per reference. */
  values: 750_000,
  objectValues: 250_000,
  /**
   * Distinct field names, in manifests and metadata together and in one object. The largest public bundles have 1,151 and 613. Each copy of a map
   * with unique field names takes ten times the memory of a map with common names, because V8 needs a hidden class or hash table for it.
   */
  memberNames: 20_000,
  objectMemberNames: 6_500,
  /** Objects in manifests, and rendered objects. */
  objects: 2_000,
  renderedObjects: 10_000,
  /** Size as JSON. An API server accepts requests of up to 3 MiB. */
  renderedObjectBytes: 3 * MIB,
  renderedBytes: 32 * MIB,
} as const;

/** Characters before or between values: line ends, `-` of block lists, and characters that begin or separate values in flow style. */
const IS_SEPARATOR = new Uint8Array(256);
for (const char of "\n\r,[{-") IS_SEPARATOR[char.charCodeAt(0)] = 1;

/** Returns the error for a bundle that exceeds a limit. It is terminal, because the size of an image never changes. */
export function createBundleTooLargeError(message: string, options?: ErrorOptions): TerminalError {
  const text = `bundle is too large: ${message}`;
  return new TerminalError(Reason.Blocked, text, { ...options, problems: [newProblem("BundleInvalid", { message: text })] });
}

/** Bytes to read before the count is compared with its limit. */
const COUNTED_BYTES = 16_384;

/** Counts the separators in a file; stops soon after `most`. Reads every byte once and allocates nothing. */
export function countSeparators(content: Uint8Array, most: number = Number.POSITIVE_INFINITY): number {
  let count = 0;
  for (let at = 0; at < content.length && count <= most; ) {
    const end = Math.min(content.length, at + COUNTED_BYTES);
    // The values are never undefined. Checking for it would triple the time of the loop.
    for (; at < end; at++) count += IS_SEPARATOR[content[at] as number] as number;
  }
  return count;
}

/** Reports whether files contain at most this number of bytes and separators. Does not read the files if they have too many bytes. */
export function isWithin(files: BundleFiles, most: { bytes: number; separators: number }): boolean {
  let { bytes, separators } = most;
  for (const content of files.values()) bytes -= content.byteLength;
  if (bytes < 0) return false;
  for (const content of files.values()) {
    separators -= countSeparators(content, separators);
    if (separators < 0) return false;
  }
  return true;
}

/**
 * Checks the files of a bundle before parsing them.
 * @throws TerminalError Blocked if the files exceed a limit; the message contains the limit, the number found, and the file.
 */
export function checkFiles(files: BundleFiles): void {
  const { files: mostFiles, bytes: mostBytes, fileSeparators, separators: mostSeparators } = BUNDLE_LIMITS;
  let bytes = 0;
  for (const content of files.values()) bytes += content.byteLength;
  if (files.size > mostFiles) throw createBundleTooLargeError(`it contains ${files.size} files, more than the ${mostFiles} allowed`);
  if (bytes > mostBytes) throw createBundleTooLargeError(`it contains ${bytes} bytes, more than the ${mostBytes} allowed`);
  if (bytes <= fileSeparators) return; // each separator is a byte
  let separators = 0;
  for (const [path, content] of files) {
    const count = countSeparators(content);
    if (count > fileSeparators)
      throw createBundleTooLargeError(
        `file ${formatPath(path)} contains ${count} lines, list items and members, more than the ${fileSeparators} allowed in one file`,
      );
    separators += count;
    if (separators > mostSeparators)
      throw createBundleTooLargeError(
        `it contains ${separators} lines, list items and members in the files up to ${formatPath(path)}, more than the ${mostSeparators} allowed`,
      );
  }
}

/** Checks the size of an annotations file. @throws TerminalError Blocked if it exceeds a limit. */
export function checkAnnotations(path: string, content: Uint8Array): void {
  const { annotationsBytes: bytes, annotationsSeparators: separators } = BUNDLE_LIMITS;
  if (isWithin(new Map([[path, content]]), { bytes, separators })) return;
  const found =
    content.byteLength > bytes ? `${content.byteLength} bytes, more than the ${bytes}` : `more lines and members than the ${separators}`;
  throw createBundleTooLargeError(`file ${formatPath(path)} contains ${found} allowed in this file`);
}

/** Checks the files in folder `metadata`. @throws TerminalError Blocked if they exceed the limit of separators. */
export function checkMetadata(files: BundleFiles, metadata: string): void {
  let found = 0;
  for (const [path, content] of files) {
    if (!path.startsWith(`${metadata}/`)) continue;
    found += countSeparators(content);
    if (found > BUNDLE_LIMITS.metadataSeparators)
      throw createBundleTooLargeError(
        `folder ${formatPath(metadata)} contains ${found} lines, list items and members in the files up to ${formatPath(path)}, more than the ${BUNDLE_LIMITS.metadataSeparators} allowed for metadata`,
      );
  }
}

/** Counts the values of the objects of a bundle while they are read. */
export class ValueCount {
  #values = 0;

  /**
   * Counts an object of the file at `path`.
   * @throws TerminalError Blocked if the object, or all objects so far, exceed the limit of values.
   */
  add(path: string, object: unknown): void {
    const { values, objectValues } = BUNDLE_LIMITS;
    const count = countValues(object, 0, objectValues);
    if (count > objectValues)
      throw createBundleTooLargeError(
        `an object in file ${formatPath(path)} contains more than the ${objectValues} values allowed in one object`,
      );
    this.#values += count;
    if (this.#values > values)
      throw createBundleTooLargeError(
        `it contains ${this.#values} values in the files up to ${formatPath(path)}, more than the ${values} allowed`,
      );
  }
}

/** Counts distinct field names while they are read. */
export class NameCount {
  readonly #names = new Set<string>();

  /**
   * Counts a name that occurs in the file at `path`.
   * @throws TerminalError Blocked for the first name that exceeds the limit.
   */
  add(path: string, name: string): void {
    this.#names.add(name);
    const { memberNames } = BUNDLE_LIMITS;
    if (this.#names.size > memberNames)
      throw createBundleTooLargeError(
        `it contains more than the ${memberNames} different field names allowed, in the files up to ${formatPath(path)}`,
      );
  }

  /**
   * Counts the names in one object of the file at `path`. Add the names first.
   * @throws TerminalError Blocked if the object exceeds the limit of names.
   */
  checkObject(path: string, object: unknown): void {
    const { objectMemberNames } = BUNDLE_LIMITS;
    if (this.#names.size <= objectMemberNames) return; // an object cannot have more names than the bundle
    const names = new Set<string>();
    forEachMember(object, (name) => names.add(name));
    if (names.size > objectMemberNames)
      throw createBundleTooLargeError(
        `an object in file ${formatPath(path)} contains ${names.size} different field names, more than the ${objectMemberNames} allowed in one object`,
      );
  }
}

function formatPath(path: string): string {
  return goQuote(truncateExcerpt(path));
}
