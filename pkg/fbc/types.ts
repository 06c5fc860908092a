import type { JsonObject } from "../api/k8s.ts";

/** One object of a file-based catalog as it came: `blob` holds all its members, also those of unknown schemas. */
export interface Meta {
  /** Such as "olm.bundle". Empty where the object names none: it can be stored and served, but nothing typed can be made of it. */
  schema: string;
  /** As the object says it, so empty for schema olm.package, whose `name` is the package. */
  package: string;
  /** Empty where the object names none. */
  name: string;
  blob: JsonObject;
}

/** A meta and where it stands. */
export interface PlacedMeta extends Meta {
  place: ContentPlace;
}

/** A typed statement about a package or bundle; the shape of `value` depends on `type`. */
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

/** One node of a channel's upgrade graph; `name` is a bundle's name, edges point at what this entry can follow. */
export interface ChannelEntry {
  name: string;
  replaces?: string;
  skips?: string[];
  /** A range in blang's language, unparsed. */
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

/** What a deprecation entry is about: `name` is absent for schema olm.package. */
export interface DeprecationReference {
  schema: string;
  name?: string;
}

/** One entry of an olm.deprecations object. */
export interface DeprecationEntry {
  reference: DeprecationReference;
  message: string;
}

/** An object of schema olm.deprecations. */
export interface FbcDeprecations {
  package: string;
  entries: DeprecationEntry[];
}

/** All that one catalog says about one package; lists are in the catalog's order. */
export interface PackageContent {
  package?: FbcPackage;
  channels: FbcChannel[];
  bundles: FbcBundle[];
  deprecations: FbcDeprecations[];
  /** How many objects of other schemas the package has. */
  others: number;
}

/** Where in a catalog something is wrong. */
export interface ContentPlace {
  /** Path below the catalog's root, with slashes. */
  file: string;
  /** Counts from 1 within the file. */
  document?: number | undefined;
  /** Counts from 1 within the file. */
  line?: number | undefined;
}

/** A part of a catalog cannot be read; the text names file, document, line and reason. */
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

/** Such as `a/catalog.yaml: document 3, line 40`. */
export function formatContentPlace({ file, document, line }: ContentPlace): string {
  const at = [document === undefined ? "" : `document ${document}`, line === undefined ? "" : `line ${line}`];
  return [file, at.filter((part) => part !== "").join(", ")].filter((part) => part !== "").join(": ");
}
