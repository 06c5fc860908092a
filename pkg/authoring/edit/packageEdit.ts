import type { JsonObject } from "../../api/k8s.ts";
import { type BundleVersion, readOwnVersion, toBundleVersion } from "../../fbc/bundleOrder.ts";
import { getPackageName, Schema } from "../../fbc/content.ts";
import { MetaDecoder } from "../../fbc/decode.ts";
import { CatalogCheck } from "../../fbc/validate/catalogCheck.ts";
import { type Finding, formatFinding } from "../../fbc/validate/finding.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { formatList } from "../../text/lists.ts";
import { CatalogText, type DocumentChange } from "./catalogText.ts";
import { isSame } from "./patchText.ts";

/** Contents of the catalog files by path relative to the catalog root. */
export type CatalogFiles = ReadonlyMap<string, string>;

/** The result of an edit. */
export interface EditResult {
  /** New contents of changed files, sorted by path; undefined for a removed file. */
  readonly files: ReadonlyMap<string, string | undefined>;
  /** Notes for the user, as sentences without a full stop. */
  readonly notes: readonly string[];
}

/** The current state of an object during an edit. */
export interface EditedDocument {
  readonly file: string;
  readonly schema: string;
  readonly name: string;
  readonly blob: JsonObject;
}

/** The edit is not possible in this catalog. The message contains the reason and what to do. */
export class EditError extends Error {
  override readonly name = "EditError";
}

interface TrackedDocument extends EditedDocument {
  /** Index in its file; undefined for a new object. */
  readonly index: number | undefined;
  readonly original: JsonObject | undefined;
}

const SAFE_NAME = /^[A-Za-z0-9][-A-Za-z0-9._+]{0,200}$/;

/** An edit of one package. Collects changes to its objects in all files of a catalog; `result` returns the changed files. */
export class PackageEdit {
  readonly name: string;
  readonly notes: string[] = [];
  readonly #all: CatalogFiles;
  readonly #files = new Map<string, CatalogText>();
  readonly #documents: TrackedDocument[] = [];
  readonly #removed: TrackedDocument[] = [];

  /** @throws NotEditableError if a YAML document contains several objects. */
  constructor(files: CatalogFiles, name: string) {
    this.name = name;
    this.#all = files;
    for (const [file, text] of files) {
      if (!text.includes(name)) continue;
      const read = new CatalogText(text);
      this.#files.set(file, read);
      for (const [index, meta] of read.documents.entries()) {
        if (getPackageName(meta) !== name) continue;
        this.#documents.push({ file, index, schema: meta.schema, name: meta.name, blob: meta.blob, original: meta.blob });
      }
    }
  }

  /** Returns the objects of a schema, in the order of the catalog. */
  all(schema: string): readonly EditedDocument[] {
    return this.#documents.filter((document) => document.schema === schema);
  }

  /** All objects of the package. */
  get documents(): readonly EditedDocument[] {
    return this.#documents;
  }

  find(schema: string, name: string): EditedDocument | undefined {
    return this.#documents.find((document) => document.schema === schema && document.name === name);
  }

  /** Returns a channel or bundle. @throws EditError with the available names if it does not exist. */
  require(schema: typeof Schema.channel | typeof Schema.bundle, name: string): EditedDocument {
    const found = this.find(schema, name);
    if (found) return found;
    this.requirePackage();
    const what = schema === Schema.channel ? "channel" : "bundle";
    const names = this.all(schema).map((document) => document.name);
    throw new EditError(`package ${goQuote(this.name)} has no ${what} ${goQuote(name)}; available: ${formatNames(names)}`);
  }

  /** Returns the olm.package. @throws EditError if it does not exist. */
  requirePackage(): EditedDocument {
    const found = this.find(Schema.package, this.name);
    if (!found) throw new EditError(`the catalog does not contain package ${goQuote(this.name)}`);
    return found;
  }

  change(document: EditedDocument, blob: JsonObject): void {
    const at = this.#documents.indexOf(document as TrackedDocument);
    this.#documents[at] = { ...(document as TrackedDocument), blob };
  }

  remove(document: EditedDocument): void {
    this.#documents.splice(this.#documents.indexOf(document as TrackedDocument), 1);
    this.#removed.push(document as TrackedDocument);
  }

  /**
   * Adds an object.
   * @param file defaults to the file with the last object of the same schema, or to a new file next to it if each object has its own file.
   */
  add(blob: JsonObject, schema: string, name: string, file: string = this.#fileFor(blob, schema, name)): void {
    this.#documents.push({ file, schema, name, blob, index: undefined, original: undefined });
  }

  /** Versions of the bundles of the package by name. */
  get versions(): ReadonlyMap<string, BundleVersion> {
    return new Map(this.all(Schema.bundle).map(({ name, blob }) => [name, readOwnVersion(blob) ?? toBundleVersion("")]));
  }

  /** Returns the changed files and the notes. */
  result(): EditResult {
    const touched = new Set([
      ...this.#documents.filter(({ blob, original }) => original === undefined || !isSame(blob, original)).map(({ file }) => file),
      ...this.#removed.map(({ file }) => file),
    ]);
    const notes = [...this.notes];
    const files = new Map<string, string | undefined>();
    for (const file of [...touched].sort(compareText)) files.set(file, this.#text(file, notes));
    return { files, notes };
  }

  #text(file: string, notes: string[]): string | undefined {
    const known = this.#files.get(file) ?? this.#read(file);
    const read = known ?? new CatalogText(file.endsWith(".json") ? "{}" : "");
    const changes = new Map<number, DocumentChange>();
    const own = this.#documents.filter((document) => document.file === file);
    for (const { index, blob, original } of own) if (index !== undefined && !isSame(blob, original)) changes.set(index, { to: blob });
    for (const { index, file: from } of this.#removed) if (from === file && index !== undefined) changes.set(index, "removed");
    if (!known) for (const i of read.documents.keys()) changes.set(i, "removed");
    const added = own.flatMap(({ index, blob }) => (index === undefined ? [blob] : []));
    const { text, rewritten } = read.applyChanges(changes, added);
    for (const index of rewritten)
      notes.push(`${file}: rewrote document ${index + 1} without its comments, because it cannot be edited in place`);
    const left = read.documents.length - [...changes.values()].filter((change) => change === "removed").length + added.length;
    return left === 0 ? undefined : text;
  }

  /** Reads a file that does not contain the package. */
  #read(file: string): CatalogText | undefined {
    const text = this.#all.get(file);
    return text === undefined ? undefined : new CatalogText(text);
  }

  #fileFor(blob: JsonObject, schema: string, name: string): string {
    const alike = this.#documents.filter((document) => document.schema === schema && document.index !== undefined);
    const last = alike.at(-1);
    if (last) return this.#newFileFor(alike, last, blob, name) ?? last.file;
    const any = this.find(Schema.package, this.name) ?? this.#documents[0];
    if (any) return any.file;
    if (!SAFE_NAME.test(this.name))
      throw new EditError(`cannot create a file for package ${goQuote(this.name)}: its name is not a valid file name`);
    return `${this.name}/catalog.yaml`;
  }

  /** Returns the path of a new file if each object of the schema has its own file, named after the object or its version. */
  #newFileFor(alike: readonly TrackedDocument[], last: TrackedDocument, blob: JsonObject, name: string): string | undefined {
    const alone = alike.every(({ file, name: own }) => this.#files.get(file)?.documents.length === 1 && own !== "");
    const slash = last.file.lastIndexOf("/") + 1;
    const stem = last.file.slice(slash);
    const [from = "", to = ""] = stem.includes(last.name)
      ? [last.name, name]
      : [readOwnVersion(last.blob)?.text, readOwnVersion(blob)?.text];
    if (!alone || from === "" || to === "" || !stem.includes(from)) return undefined;
    const file = last.file.slice(0, slash) + stem.replace(from, () => to);
    return SAFE_NAME.test(to) && !this.#all.has(file) && file.endsWith(stem.slice(stem.indexOf(from) + from.length)) ? file : undefined;
  }
}

const MAX_NAMES = 20;

/** Formats names for a message. */
export function formatNames(names: readonly string[]): string {
  return names.length === 0
    ? "none"
    : formatList(
        names.map((name) => goQuote(name)),
        { max: MAX_NAMES },
      );
}

/** Maximum errors in a message. */
const MAX_ERRORS = 10;

/**
 * Edits one package of a catalog and validates the result.
 * @param files of the whole catalog.
 * @throws EditError if the edit is not possible, or if it would add an error for which opm rejects the catalog; ContentError if the catalog cannot be
 * read.
 */
export function editCatalog(files: CatalogFiles, packageName: string, change: (edit: PackageEdit) => void): EditResult {
  if (packageName === "") throw new EditError("package name must not be empty");
  const edit = new PackageEdit(files, packageName);
  change(edit);
  const result = edit.result();
  if (result.files.size > 0) requireValid(files, packageName, result);
  return result;
}

/** Applies the result of an edit to the files of a catalog. */
export function applyEdit(files: CatalogFiles, result: EditResult): Map<string, string> {
  const all = new Map<string, string>();
  for (const [path, text] of [...files, ...result.files]) {
    if (text === undefined) all.delete(path);
    else all.set(path, text);
  }
  return all;
}

function requireValid(files: CatalogFiles, packageName: string, result: EditResult): void {
  const before = new Set(findErrors(files, packageName).map(getFindingKey));
  const added = findErrors(applyEdit(files, result), packageName).filter((finding) => !before.has(getFindingKey(finding)));
  if (added.length === 0) return;
  const lines = added.map((finding) => `${formatFinding(finding)} [${finding.rule}]`);
  const list = formatList(lines, { max: MAX_ERRORS, separator: "\n  " });
  throw new EditError(`the edit would make the catalog invalid (no files were changed):\n  ${list}`);
}

/** Finds the errors in the files that contain the package. */
function findErrors(files: CatalogFiles, packageName: string): Finding[] {
  const check = new CatalogCheck();
  for (const [path, text] of files) {
    if (!text.includes(packageName)) continue;
    const decoder = new MetaDecoder(path, { onEmpty: (place) => check.addEmpty(place) });
    for (const meta of decoder.push(Buffer.from(text))) check.add(meta);
    for (const meta of decoder.end()) check.add(meta);
  }
  return check.end().findings.filter(({ severity }) => severity === "error");
}

/** Returns a key for a finding. Ignores its location, because an edit can change it. */
function getFindingKey({ rule, schema, package: packageName, name, message, path }: Finding): string {
  return JSON.stringify([rule, schema, packageName, name, message, path]);
}
