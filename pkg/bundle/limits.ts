import { Reason } from "../api/constants.ts";
import { newProblem } from "../api/problems.ts";
import { TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { countValues, eachMember } from "../golang/yamlDocument.ts";
import { excerpt } from "../text/truncate.ts";
import type { BundleFiles } from "./types.ts";

const MIB = 1024 * 1024;

/**
 * Most of everything that a bundle may hold: ten times what the largest public bundles do (105 files, 7 MB, 161,000 separators and 73,000
 * values; in one file 47,000 separators, in one object 23,000 values), except for objects, which the controller compares with each other.
 */
export const BUNDLE_LIMITS = {
  files: 2_000,
  bytes: 72 * MIB,
  /** Characters of which at least one is between two values of YAML or JSON: an upper bound of the values, read off the text. */
  separators: 2_000_000,
  fileSeparators: 500_000,
  /** Of `metadata/annotations.yaml`, which is read before the rest; real ones have some 2,000 bytes. */
  annotationsBytes: MIB,
  annotationsSeparators: 20_000,
  /** Of the folder of metadata: several times what a whole real bundle has, as a bundle may state one folder for both. */
  metadataSeparators: 200_000,
  /** Maps, lists and scalars of the manifests, each as often as an alias repeats it. */
  values: 750_000,
  objectValues: 250_000,
  /**
   * Different names of members, in manifests and metadata together and in one object; the public bundles with most have 1,151 and 613. A map
   * with a name of its own costs ten times what a map of usual names does, in every copy: V8 has a hidden class for it, or a hash table.
   */
  memberNames: 20_000,
  objectMemberNames: 6_500,
  /** Of the manifests, and of what they render to. */
  objects: 2_000,
  renderedObjects: 10_000,
  /** As JSON. An API server accepts requests of up to 3 MiB. */
  renderedObjectBytes: 3 * MIB,
  renderedBytes: 32 * MIB,
} as const;

/** Characters before or between values: line ends, `-` of block lists, and what begins or divides lists and maps on one line. */
const IS_SEPARATOR = new Uint8Array(256);
for (const char of "\n\r,[{-") IS_SEPARATOR[char.charCodeAt(0)] = 1;

/** Returns the error for a bundle above a limit: terminal, because the same image is as large on every try. */
export function bundleTooLarge(message: string, options?: ErrorOptions): TerminalError {
  const text = `bundle is too large: ${message}`;
  return new TerminalError(Reason.Blocked, text, { ...options, problems: [newProblem("BundleInvalid", { message: text })] });
}

/** So many bytes are read before a count is compared with its limit. */
const COUNTED_BYTES = 16_384;

/** Counts the separators in a file; stops soon after `most`. Reads every byte once and builds nothing. */
export function countSeparators(content: Uint8Array, most: number = Number.POSITIVE_INFINITY): number {
  let count = 0;
  for (let at = 0; at < content.length && count <= most; ) {
    const end = Math.min(content.length, at + COUNTED_BYTES);
    // Without a default for what is never missing, the loop takes a third of the time.
    for (; at < end; at++) count += IS_SEPARATOR[content[at] as number] as number;
  }
  return count;
}

/** Returns whether files hold at most so many bytes and separators; reads none of a bundle with more bytes. */
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
 * Checks the files of a bundle before any of them is parsed.
 * @throws TerminalError Blocked above the limit on files, bytes or separators; names the limit, the number found, and the file.
 */
export function checkFiles(files: BundleFiles): void {
  const { files: mostFiles, bytes: mostBytes, fileSeparators, separators: mostSeparators } = BUNDLE_LIMITS;
  let bytes = 0;
  for (const content of files.values()) bytes += content.byteLength;
  if (files.size > mostFiles) throw bundleTooLarge(`it holds ${files.size} files, more than the ${mostFiles} allowed`);
  if (bytes > mostBytes) throw bundleTooLarge(`it holds ${bytes} bytes, more than the ${mostBytes} allowed`);
  if (bytes <= fileSeparators) return; // every separator is a byte
  let separators = 0;
  for (const [path, content] of files) {
    const count = countSeparators(content);
    if (count > fileSeparators)
      throw bundleTooLarge(
        `file ${named(path)} holds ${count} lines, list items and members, more than the ${fileSeparators} allowed in one file`,
      );
    separators += count;
    if (separators > mostSeparators)
      throw bundleTooLarge(
        `it holds ${separators} lines, list items and members up to file ${named(path)}, more than the ${mostSeparators} allowed`,
      );
  }
}

/** @throws TerminalError Blocked for the content of an annotations file above its limits. */
export function checkAnnotations(path: string, content: Uint8Array): void {
  const { annotationsBytes: bytes, annotationsSeparators: separators } = BUNDLE_LIMITS;
  if (isWithin(new Map([[path, content]]), { bytes, separators })) return;
  const found =
    content.byteLength > bytes ? `${content.byteLength} bytes, more than the ${bytes}` : `more lines and members than the ${separators}`;
  throw bundleTooLarge(`file ${named(path)} holds ${found} allowed in this file`);
}

/** @throws TerminalError Blocked when the files in folder `metadata` hold more separators than the limit together. */
export function checkMetadata(files: BundleFiles, metadata: string): void {
  let found = 0;
  for (const [path, content] of files) {
    if (!path.startsWith(`${metadata}/`)) continue;
    found += countSeparators(content);
    if (found > BUNDLE_LIMITS.metadataSeparators)
      throw bundleTooLarge(
        `folder ${named(metadata)} holds ${found} lines, list items and members up to file ${named(path)}, more than the ${BUNDLE_LIMITS.metadataSeparators} allowed for metadata`,
      );
  }
}

/** Counts the values of a bundle's objects as they are read. */
export class ValueCount {
  #values = 0;

  /**
   * Counts an object of the file at `path`.
   * @throws TerminalError Blocked when the object, or all objects so far, hold more values than the limit.
   */
  add(path: string, object: unknown): void {
    const { values, objectValues } = BUNDLE_LIMITS;
    const count = countValues(object, 0, objectValues);
    if (count > objectValues)
      throw bundleTooLarge(`an object of file ${named(path)} holds more than the ${objectValues} values allowed in one object`);
    this.#values += count;
    if (this.#values > values)
      throw bundleTooLarge(`it holds ${this.#values} values up to file ${named(path)}, more than the ${values} allowed`);
  }
}

/** Counts the different names of members as they are read. */
export class NameCount {
  readonly #names = new Set<string>();

  /**
   * Counts a name that occurs in the file at `path`.
   * @throws TerminalError Blocked for the first name above the limit.
   */
  add(path: string, name: string): void {
    this.#names.add(name);
    const { memberNames } = BUNDLE_LIMITS;
    if (this.#names.size > memberNames)
      throw bundleTooLarge(`it holds more than the ${memberNames} different names of members allowed, up to file ${named(path)}`);
  }

  /**
   * Counts the names in an object of the file at `path`, which were added before.
   * @throws TerminalError Blocked for an object with more names than one object may have.
   */
  checkObject(path: string, object: unknown): void {
    const { objectMemberNames } = BUNDLE_LIMITS;
    if (this.#names.size <= objectMemberNames) return; // no object has more than the bundle
    const names = new Set<string>();
    eachMember(object, (name) => names.add(name));
    if (names.size > objectMemberNames)
      throw bundleTooLarge(
        `an object of file ${named(path)} holds ${names.size} different names of members, more than the ${objectMemberNames} allowed in one object`,
      );
  }
}

function named(path: string): string {
  return goQuote(excerpt(path));
}
