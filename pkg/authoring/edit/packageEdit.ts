import type { JsonObject } from "../../api/k8s.ts";
import { type BundleVersion, bundleVersion, ownVersion } from "../../fbc/bundleOrder.ts";
import { packageOf, Schema } from "../../fbc/content.ts";
import { MetaDecoder } from "../../fbc/decode.ts";
import { CatalogCheck } from "../../fbc/validate/catalogCheck.ts";
import { type Finding, formatFinding } from "../../fbc/validate/finding.ts";
import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { formatList } from "../../text/lists.ts";
import { CatalogText, type DocumentChange } from "./catalogText.ts";
import { isSame } from "./patchText.ts";

/** The texts of a catalog's files by their paths below its root. */
export type CatalogFiles = ReadonlyMap<string, string>;

/** What an edit comes to. */
export interface EditResult {
  /** New texts of the files that change, in order of their paths; undefined for a file that nothing is left of. */
  readonly files: ReadonlyMap<string, string | undefined>;
  /** What whoever edits should know, in sentences without a full stop. */
  readonly notes: readonly string[];
}

/** An object of the package that is edited, as it is so far. */
export interface EditedDocument {
  readonly file: string;
  readonly schema: string;
  readonly name: string;
  readonly blob: JsonObject;
}

/** What was asked for cannot be done with this catalog; the text says why and what to do. */
export class EditError extends Error {
  override readonly name = "EditError";
}

interface Held extends EditedDocument {
  /** In its file; undefined for a new one. */
  readonly index: number | undefined;
  readonly original: JsonObject | undefined;
}

const SAFE_NAME = /^[A-Za-z0-9][-A-Za-z0-9._+]{0,200}$/;

/** The objects of one package in a catalog, wherever its files have them, open for changes; what it comes to is told at the end. */
export class PackageEdit {
  readonly name: string;
  readonly notes: string[] = [];
  readonly #all: CatalogFiles;
  readonly #files = new Map<string, CatalogText>();
  readonly #documents: Held[] = [];
  readonly #removed: Held[] = [];

  /** @throws NotEditableError for a file in which several objects stand between two separators. */
  constructor(files: CatalogFiles, name: string) {
    this.name = name;
    this.#all = files;
    for (const [file, text] of files) {
      if (!text.includes(name)) continue;
      const read = new CatalogText(text);
      this.#files.set(file, read);
      for (const [index, meta] of read.documents.entries()) {
        if (packageOf(meta) !== name) continue;
        this.#documents.push({ file, index, schema: meta.schema, name: meta.name, blob: meta.blob, original: meta.blob });
      }
    }
  }

  /** Those of a schema, in the catalog's order. */
  all(schema: string): readonly EditedDocument[] {
    return this.#documents.filter((document) => document.schema === schema);
  }

  /** Every object of the package. */
  get documents(): readonly EditedDocument[] {
    return this.#documents;
  }

  find(schema: string, name: string): EditedDocument | undefined {
    return this.#documents.find((document) => document.schema === schema && document.name === name);
  }

  /** @throws EditError with the names that there are. */
  require(schema: typeof Schema.channel | typeof Schema.bundle, name: string): EditedDocument {
    const found = this.find(schema, name);
    if (found) return found;
    this.requirePackage();
    const what = schema === Schema.channel ? "channel" : "bundle";
    const names = this.all(schema).map((document) => document.name);
    throw new EditError(`package ${goQuote(this.name)} has no ${what} ${goQuote(name)}; it has ${formatNames(names)}`);
  }

  /** @throws EditError */
  requirePackage(): EditedDocument {
    const found = this.find(Schema.package, this.name);
    if (!found) throw new EditError(`the catalog has no package ${goQuote(this.name)}`);
    return found;
  }

  change(document: EditedDocument, blob: JsonObject): void {
    const at = this.#documents.indexOf(document as Held);
    this.#documents[at] = { ...(document as Held), blob };
  }

  remove(document: EditedDocument): void {
    this.#documents.splice(this.#documents.indexOf(document as Held), 1);
    this.#removed.push(document as Held);
  }

  /** @param file where to; by default the file with the last object of its kind, or one beside it where each has a file of its own. */
  add(blob: JsonObject, schema: string, name: string, file: string = this.#fileFor(blob, schema, name)): void {
    this.#documents.push({ file, schema, name, blob, index: undefined, original: undefined });
  }

  /** Version of each bundle of the package by its name; undefined for a name without one. */
  get versions(): ReadonlyMap<string, BundleVersion> {
    return new Map(this.all(Schema.bundle).map(({ name, blob }) => [name, ownVersion(blob) ?? bundleVersion("")]));
  }

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
    const { text, rewritten } = read.changed(changes, added);
    for (const index of rewritten)
      notes.push(`${file}: document ${index + 1} could not be edited in place and was written anew, without its comments`);
    const left = read.documents.length - [...changes.values()].filter((change) => change === "removed").length + added.length;
    return left === 0 ? undefined : text;
  }

  /** A file that says nothing of the package. */
  #read(file: string): CatalogText | undefined {
    const text = this.#all.get(file);
    return text === undefined ? undefined : new CatalogText(text);
  }

  #fileFor(blob: JsonObject, schema: string, name: string): string {
    const alike = this.#documents.filter((document) => document.schema === schema && document.index !== undefined);
    const last = alike.at(-1);
    if (last) return this.#beside(alike, last, blob, name) ?? last.file;
    const any = this.find(Schema.package, this.name) ?? this.#documents[0];
    if (any) return any.file;
    if (!SAFE_NAME.test(this.name)) throw new EditError(`a package named ${goQuote(this.name)} has no place in the catalog`);
    return `${this.name}/catalog.yaml`;
  }

  /** The path of a new file where each object stands alone in one that has its name or version. */
  #beside(alike: readonly Held[], last: Held, blob: JsonObject, name: string): string | undefined {
    const alone = alike.every(({ file, name: own }) => this.#files.get(file)?.documents.length === 1 && own !== "");
    const slash = last.file.lastIndexOf("/") + 1;
    const stem = last.file.slice(slash);
    const [from = "", to = ""] = stem.includes(last.name) ? [last.name, name] : [ownVersion(last.blob)?.text, ownVersion(blob)?.text];
    if (!alone || from === "" || to === "" || !stem.includes(from)) return undefined;
    const file = last.file.slice(0, slash) + stem.replace(from, () => to);
    return SAFE_NAME.test(to) && !this.#all.has(file) && file.endsWith(stem.slice(stem.indexOf(from) + from.length)) ? file : undefined;
  }
}

const MAX_NAMES = 20;

/** Some names, for a message. */
export function formatNames(names: readonly string[]): string {
  return names.length === 0
    ? "none"
    : formatList(
        names.map((name) => goQuote(name)),
        { max: MAX_NAMES },
      );
}

/** At most so many faults are told. */
const MAX_TOLD = 10;

/**
 * Edits one package of a catalog and checks what came of it.
 * @param files of the whole catalog.
 * @throws EditError where it cannot be done, or where opm would refuse the catalog for something that it does not refuse it for now; ContentError
 * for a catalog that cannot be read.
 */
export function editCatalog(files: CatalogFiles, packageName: string, work: (edit: PackageEdit) => void): EditResult {
  if (packageName === "") throw new EditError("a package has a name");
  const edit = new PackageEdit(files, packageName);
  work(edit);
  const result = edit.result();
  if (result.files.size > 0) requireSound(files, packageName, result);
  return result;
}

/** The catalog as it is with the result. */
export function applyEdit(files: CatalogFiles, result: EditResult): Map<string, string> {
  const all = new Map<string, string>();
  for (const [path, text] of [...files, ...result.files]) {
    if (text === undefined) all.delete(path);
    else all.set(path, text);
  }
  return all;
}

function requireSound(files: CatalogFiles, packageName: string, result: EditResult): void {
  const before = new Set(errorsIn(files, packageName).map(keyOf));
  const added = errorsIn(applyEdit(files, result), packageName).filter((finding) => !before.has(keyOf(finding)));
  if (added.length === 0) return;
  const lines = added.map((finding) => `${formatFinding(finding)} [${finding.rule}]`);
  const list = formatList(lines, { max: MAX_TOLD, separator: "\n  " });
  throw new EditError(`the catalog would not be valid any more, nothing was changed:\n  ${list}`);
}

/** The errors in the files that say something of the package. */
function errorsIn(files: CatalogFiles, packageName: string): Finding[] {
  const check = new CatalogCheck();
  for (const [path, text] of files) {
    if (!text.includes(packageName)) continue;
    const decoder = new MetaDecoder(path, { onEmpty: (place) => check.addEmpty(place) });
    for (const meta of decoder.push(Buffer.from(text))) check.add(meta);
    for (const meta of decoder.end()) check.add(meta);
  }
  return check.end().findings.filter(({ severity }) => severity === "error");
}

/** A finding without the place that an edit may have moved. */
function keyOf({ rule, schema, package: packageName, name, message, path }: Finding): string {
  return JSON.stringify([rule, schema, packageName, name, message, path]);
}
