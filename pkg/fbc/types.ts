import type { JsonObject } from "../api/k8s.ts";
import type { PackageLifecycle } from "./lifecycleDocument.ts";

/** An object of a file-based catalog. `blob` contains all its fields, including unknown ones. */
export interface Meta {
  /** For example "olm.bundle". Empty if the object has no schema: it can be stored and served, but has no typed form. */
  schema: string;
  /** Value of field `package`. Empty for schema olm.package, because its package is `name`. */
  package: string;
  /** Empty if the object has none. */
  name: string;
  blob: JsonObject;
}

/** A meta and its location. */
export interface PlacedMeta extends Meta {
  place: ContentPlace;
}

/** A property of a package or bundle. `type` determines the form of `value`. */
export interface Property {
  type: string;
  value: unknown;
}

/** An object of schema olm.package. */
export interface FbcPackage {
  name: string;
  defaultChannel?: string;
  description?: string;
  icon?: JsonObject;
  properties?: Property[];
}

/** An entry of a channel. `name` is the name of a bundle. Its edges refer to bundles that can be upgraded to it. */
export interface ChannelEntry {
  name: string;
  replaces?: string;
  skips?: string[];
  /** An unparsed version range in the syntax of blang/semver. */
  skipRange?: string;
}

/** An object of schema olm.channel. */
export interface FbcChannel {
  name: string;
  package: string;
  entries: ChannelEntry[];
}

/** An object of schema olm.bundle. */
export interface FbcBundle {
  name: string;
  package: string;
  /** Pull reference of the bundle image. */
  image: string;
  properties: Property[];
  relatedImages?: { name?: string; image: string }[];
}

/** The target of a deprecation. `name` is absent for schema olm.package. */
export interface DeprecationReference {
  schema: string;
  name?: string;
}

/** An entry of an olm.deprecations object. */
export interface DeprecationEntry {
  reference: DeprecationReference;
  message: string;
}

/** An object of schema olm.deprecations. */
export interface FbcDeprecations {
  package: string;
  entries: DeprecationEntry[];
}

/** The objects of a package in one catalog. Lists are in the order of the catalog. */
export interface PackageContent {
  package?: FbcPackage;
  channels: FbcChannel[];
  bundles: FbcBundle[];
  deprecations: FbcDeprecations[];
  /** Absent if the catalog has no support phases of the package. */
  lifecycle?: PackageLifecycle;
  /** Number of objects of other schemas, including support phases. */
  others: number;
}

/** A location in a catalog. */
export interface ContentPlace {
  /** Path relative to the root of the catalog, with slashes. */
  file: string;
  /** Counts from 1 within the file. */
  document?: number | undefined;
  /** Counts from 1 within the file. */
  line?: number | undefined;
}

/** Thrown if a part of a catalog cannot be read. The message contains file, document, line and reason. */
export class ContentError extends Error {
  readonly place: ContentPlace;
  readonly reason: string;

  constructor(place: ContentPlace, reason: string, options?: ErrorOptions) {
    super(`${formatContentPlace(place)}: ${reason}`, options);
    this.name = "ContentError";
    this.place = place;
    this.reason = reason;
  }
}

/** Formats a location, such as `a/catalog.yaml: document 3, line 40`. */
export function formatContentPlace({ file, document, line }: ContentPlace): string {
  const at = [document === undefined ? "" : `document ${document}`, line === undefined ? "" : `line ${line}`];
  return [file, at.filter((part) => part !== "").join(", ")].filter((part) => part !== "").join(": ");
}
