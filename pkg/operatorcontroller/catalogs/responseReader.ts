import type { JsonObject } from "../../api/k8s.ts";
import { getPackageName, Schema } from "../../fbc/content.ts";
import { MetaDecoder } from "../../fbc/decode.ts";
import { LIFECYCLE_SCHEMA, readLifecycle } from "../../fbc/lifecycleDocument.ts";
import type { Meta } from "../../fbc/types.ts";
import { findMember, foldKey, isObject } from "../../golang/members.ts";
import { countValues } from "../../golang/yamlDocument.ts";
import { trimIndexMeta } from "../../resolve/dependencies/bundleIndex.ts";
import { truncateExcerpt } from "../../text/truncate.ts";

/** Bundle properties that resolution reads. Other properties, especially ClusterServiceVersion metadata, make up most of a catalog. */
const KEPT_PROPERTIES: ReadonlySet<unknown> = new Set([
  "olm.package",
  "olm.package.required",
  "olm.gvk",
  "olm.gvk.required",
  "olm.constraint",
  "olm.maxOpenShiftVersion",
]);

const IDENTITY_MEMBERS = ["schema", "package", "name"];
const ENTRY_MEMBERS = ["name", "replaces", "skips", "skiprange"];
const DEPRECATION_MEMBERS = ["reference", "message"];

/**
 * Returns `meta` with only the members that resolution reads from packages, channels, bundles, deprecations and support phases; for other schemas,
 * without members.
 * Bundles keep only the properties that resolution reads. Keeps members with a wrong type, because later code reports them.
 */
function trimMeta(meta: Meta): Meta {
  return { ...meta, blob: trimBlob(meta) };
}

function trimBlob({ schema, blob }: Meta): JsonObject {
  switch (schema) {
    case Schema.package:
      return pickMembers(blob, [...IDENTITY_MEMBERS, "defaultchannel"]);
    case Schema.channel:
      return mapLists(pickMembers(blob, [...IDENTITY_MEMBERS, "entries"]), "entries", pickOfEach(ENTRY_MEMBERS));
    case Schema.deprecations:
      return mapLists(pickMembers(blob, [...IDENTITY_MEMBERS, "entries"]), "entries", pickOfEach(DEPRECATION_MEMBERS));
    case Schema.bundle: {
      const kept = pickMembers(blob, [...IDENTITY_MEMBERS, "image", "properties"]);
      return mapLists(kept, "properties", (list) =>
        list.filter((item) => !isObject(item) || KEPT_PROPERTIES.has(findMember(item, "type"))),
      );
    }
    case LIFECYCLE_SCHEMA:
      return { versions: readLifecycle(blob).lifecycle.versions };
    default:
      return {};
  }
}

/** Returns the members whose names are in `names`, ignoring case. @param names in lower case. */
function pickMembers(object: Readonly<Record<string, unknown>>, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(foldKey(name))));
}

/** Returns `object` with the list `name` replaced, ignoring the case of the name. */
function mapLists(object: JsonObject, name: string, replace: (list: readonly unknown[]) => unknown[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [key, foldKey(key) === name && Array.isArray(value) ? replace(value) : value]),
  );
}

/** Returns a list whose objects contain only the members `names`. */
function pickOfEach(names: readonly string[]): (list: readonly unknown[]) => unknown[] {
  return (list) => list.map((item) => (isObject(item) ? pickMembers(item, names) : item));
}

/** Limits of a catalog's response. */
export interface ReadLimits {
  /** Maximum size in bytes of one object, which is parsed as a whole. */
  readonly objectBytes: number;
  readonly objectValues: number;
  /** Maximum size in bytes of the JSON of a package that resolution reads. */
  readonly keptBytes: number;
  /** Maximum number of maps, lists and scalars in a package that resolution reads. */
  readonly keptValues: number;
}

/** A catalog's response, and the objects to read from it. */
export interface ReadTask {
  /** Path of the request, for errors. */
  readonly path: string;
  /** Objects of one package for resolution, or bundles of all packages for the dependency solver. */
  readonly requested: { readonly kind: "package"; readonly name: string } | { readonly kind: "bundleIndex" };
  readonly limits: ReadLimits;
}

/** Reads the objects of one response piece by piece, and returns only the members that resolution reads. */
export class ResponseReader {
  readonly #requested: ReadTask["requested"];
  readonly #limits: ReadLimits;
  readonly #decoder: MetaDecoder;
  #bytes = 0;
  #values = 0;

  constructor({ path, requested: wanted, limits }: ReadTask) {
    this.#requested = wanted;
    this.#limits = limits;
    this.#decoder = new MetaDecoder(path, { maxDocumentBytes: limits.objectBytes, maxValues: limits.objectValues });
  }

  /**
   * Returns the objects that end in `chunk`.
   * @throws ContentError for content that cannot be read. @throws Error with the exceeded limit and the object that exceeded it.
   */
  push(chunk: Uint8Array): Meta[] {
    return [...this.#kept(this.#decoder.push(chunk))];
  }

  /** Returns the objects that end with the response. @throws as `push`. */
  end(): Meta[] {
    return [...this.#kept(this.#decoder.end())];
  }

  *#kept(metas: Iterable<Meta>): Generator<Meta> {
    for (const meta of metas) {
      if (this.#requested.kind === "bundleIndex") yield trimIndexMeta(meta);
      else if (getPackageName(meta) === this.#requested.name) yield this.#count(trimMeta(meta));
    }
  }

  #count(meta: Meta): Meta {
    const { keptBytes, keptValues } = this.#limits;
    this.#bytes += JSON.stringify(meta.blob).length;
    this.#values = countValues(meta.blob, this.#values, keptValues);
    if (this.#bytes > keptBytes) throw newSizeError(`${keptBytes} bytes`, meta);
    if (this.#values > keptValues) throw newSizeError(`${keptValues} values`, meta);
    return meta;
  }
}

function newSizeError(limit: string, { schema, name }: Meta): Error {
  return new Error(`the package is too large for resolution: more than ${limit}, exceeded at ${truncateExcerpt(`${schema} ${name}`)}`);
}

/** A message from `ResponseThread` to its worker thread, about the response with number `id`. */
export type ReadRequest =
  | { readonly kind: "open"; readonly id: number; readonly task: ReadTask }
  | { readonly kind: "push"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly kind: "end" | "drop"; readonly id: number };

/** An object whose members are one JSON string, which preserves the text of each number. */
export interface EncodedMeta extends Omit<Meta, "blob"> {
  readonly blob: string;
}

/** A response from the worker thread; "unknown" if the catalog's response was not opened in this thread. */
export type ReadResponse =
  | { readonly kind: "read"; readonly metas: readonly EncodedMeta[] }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "unknown" };
