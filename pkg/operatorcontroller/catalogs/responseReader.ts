import type { JsonObject } from "../../api/k8s.ts";
import { getPackageName, Schema } from "../../fbc/content.ts";
import { MetaDecoder } from "../../fbc/decode.ts";
import type { Meta } from "../../fbc/types.ts";
import { findMember, foldKey, isObject } from "../../golang/members.ts";
import { countValues } from "../../golang/yamlDocument.ts";
import { trimIndexMeta } from "../../resolve/dependencies/bundleIndex.ts";
import { truncateExcerpt } from "../../text/truncate.ts";

/** Properties of a bundle that resolution reads; most of a catalog is the rest, above all metadata of ClusterServiceVersions. */
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
 * Returns `meta` with only the members that resolution reads of packages, channels, bundles and deprecations; for other schemas, without members.
 * Bundles keep only the properties that resolution reads. A member with a wrong type stays, so that a later error reports it.
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
    default:
      return {};
  }
}

/** Returns the members whose names are among `names`, in any letter case. @param names in lower case. */
function pickMembers(object: Readonly<Record<string, unknown>>, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(foldKey(name))));
}

/** Returns `object` with the list `name`, in any letter case, replaced. */
function mapLists(object: JsonObject, name: string, replace: (list: readonly unknown[]) => unknown[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [key, foldKey(key) === name && Array.isArray(value) ? replace(value) : value]),
  );
}

/** Returns a list with only the members `names` of its objects. */
function pickOfEach(names: readonly string[]): (list: readonly unknown[]) => unknown[] {
  return (list) => list.map((item) => (isObject(item) ? pickMembers(item, names) : item));
}

/** The limits of a response of a catalog. */
export interface ReadLimits {
  /** Bytes of one object, which is parsed as a whole. */
  readonly objectBytes: number;
  readonly objectValues: number;
  /** Bytes of the JSON that resolution reads of a package. */
  readonly keptBytes: number;
  /** Maps, lists and scalars that resolution reads of a package. */
  readonly keptValues: number;
}

/** One response of a catalog, and the objects to read from it. */
export interface ReadTask {
  /** Path of the request; errors name it. */
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
   * @throws ContentError for content that cannot be read. @throws Error that names the limit and the object at which it was exceeded.
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

/** A message of `ResponseThread` to its worker about the response with number `id`. */
export type ReadRequest =
  | { readonly kind: "open"; readonly id: number; readonly task: ReadTask }
  | { readonly kind: "push"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly kind: "end" | "drop"; readonly id: number };

/** An object with its members as one JSON text, which keeps the text of each number. */
export interface EncodedMeta extends Omit<Meta, "blob"> {
  readonly blob: string;
}

/** A response of the worker; "unknown" if the response of the catalog was not opened in this thread. */
export type ReadResponse =
  | { readonly kind: "read"; readonly metas: readonly EncodedMeta[] }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "unknown" };
