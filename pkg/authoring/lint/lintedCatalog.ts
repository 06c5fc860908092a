import type { JsonObject } from "../../api/k8s.ts";
import { type BundleVersion, readOwnVersion } from "../../fbc/bundleOrder.ts";
import { Schema } from "../../fbc/content.ts";
import { collectApis, readCsvMetadata } from "../../fbc/summary/csvMetadata.ts";
import type { PlacedMeta } from "../../fbc/types.ts";
import type { FindingSubject } from "../../fbc/validate/finding.ts";
import { SCHEMA_SHAPES, type Shape } from "../../fbc/validate/shape.ts";
import {
  findMember,
  foldKey,
  getListMember,
  getObjectMember,
  getObjectMembers,
  getOptionalText,
  getTextMember,
  isObject,
} from "../../golang/members.ts";
import type { YamlPath } from "../../golang/yaml.ts";

/** An unknown field of an object. */
interface FieldFault {
  readonly path: YamlPath;
  /** A known field with a similar name. */
  readonly meant: string | undefined;
  /** Whether OLM reads the field anyway, because its name differs only in case. */
  readonly isRead: boolean;
}

/** Fields that are allowed in every object. */
const ROOT = ["schema", "package", "name", "properties"];
/** Maximum edit distance of similar names. */
const MAX_DISTANCE = 2;
const MAX_FAULTS = 50;

/** Returns the fields of an object of a known schema that are unknown or differ in case. */
function fieldFaults(schema: string, blob: JsonObject): FieldFault[] {
  const shape = SCHEMA_SHAPES.get(schema);
  const faults: FieldFault[] = [];
  if (shape !== undefined) collect(blob, shape, [], ["schema", ...ROOT], faults);
  return faults;
}

function collect(value: unknown, shape: Shape, at: YamlPath, more: readonly string[], faults: FieldFault[]): void {
  if (typeof shape === "string" || faults.length >= MAX_FAULTS) return;
  if ("list" in shape) {
    if (Array.isArray(value)) for (const [i, item] of value.entries()) collect(item, shape.list, [...at, i], [], faults);
  } else if ("members" in shape && isObject(value)) {
    const known = [...new Set([...canonical(shape.members), ...more])];
    for (const [key, member] of Object.entries(value)) {
      const exact = known.find((name) => name === key);
      const folded = exact ?? known.find((name) => foldKey(name) === foldKey(key));
      if (exact === undefined) faults.push({ path: [...at, key], meant: folded ?? nearest(key, known), isRead: folded !== undefined });
      const inner = folded === undefined ? undefined : shape.members.get(folded);
      if (inner !== undefined) collect(member, inner, [...at, key], [], faults);
    }
  }
}

/** Returns the canonical field names. If a field also has a lower-case variant, omits the variant. */
function canonical(members: ReadonlyMap<string, Shape>): string[] {
  const names = [...members.keys()];
  return names.filter((name) => !names.some((other) => other !== name && other.toLowerCase() === name));
}

function nearest(key: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((name) => ({ name, distance: computeDistance(foldKey(key), foldKey(name)) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best && best.distance <= MAX_DISTANCE && best.distance < best.name.length / 2 ? best.name : undefined;
}

/** Computes the edit distance of two names. Treats names of more than 64 characters as not similar. */
function computeDistance(a: string, b: string): number {
  if (a.length > 64) return a.length;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** An entry of a channel, with its index counted from 0. */
export interface LintedEntry {
  readonly index: number;
  readonly name: string;
  readonly replaces: string;
  readonly skips: readonly string[];
  readonly skipRange: string | undefined;
}

/** A channel with its entries, in their order. */
export interface LintedChannel extends FindingSubject {
  readonly entries: readonly LintedEntry[];
}

/** A property of a bundle, with its index. */
interface LintedProperty {
  readonly index: number;
  readonly type: string;
  /** Undefined for properties that contain manifests. */
  readonly value: unknown;
}

/** The parts of a bundle that lints check. */
export interface LintedBundle extends FindingSubject {
  readonly image: string;
  readonly relatedImages: readonly string[];
  readonly version: BundleVersion | undefined;
  readonly properties: readonly LintedProperty[];
  /** Whether the catalog contains metadata of its ClusterServiceVersion. */
  readonly hasCsv: boolean;
  /** APIs that its ClusterServiceVersion requires, in the form `group/version/kind`. */
  readonly requiredApis: readonly string[];
  readonly providedApis: readonly string[];
}

/** Deprecated channels and bundles of a package. */
interface LintedDeprecations {
  readonly channels: Set<string>;
  readonly bundles: Set<string>;
}

/** A package with its channels, bundles and deprecations. */
export interface LintedPackage {
  readonly name: string;
  /** From the olm.package object; undefined if the catalog does not contain it. */
  package: (FindingSubject & { readonly defaultChannel: string }) | undefined;
  readonly channels: LintedChannel[];
  /** By name. The first bundle with a name counts. */
  readonly bundles: Map<string, LintedBundle>;
  readonly deprecated: LintedDeprecations;
}

/** Unknown fields of an object. */
export interface LintedFields extends FindingSubject {
  readonly faults: readonly FieldFault[];
}

/** An image and the first bundle that references it. */
export interface NamedImage {
  readonly image: string;
  readonly subject: FindingSubject;
  readonly path: YamlPath;
}

/** Property types that contain manifests. Their values are not kept. */
const LARGE = new Set(["olm.bundle.object", "olm.csv.metadata"]);

/** The input of the lints: names, upgrade edges, versions, images and requirements of a catalog, without manifests. */
export class LintedCatalog {
  /** By name, in the order of the catalog. */
  readonly packages = new Map<string, LintedPackage>();
  readonly fields: LintedFields[] = [];

  /** Adds an object. */
  add({ schema, package: packageName, name, blob, place }: PlacedMeta): void {
    const subject = { schema, package: packageName, name, place };
    const faults = fieldFaults(schema, blob);
    if (faults.length > 0) this.fields.push({ ...subject, faults });
    if (schema === Schema.package) this.#package(name).package ??= { ...subject, defaultChannel: getTextMember(blob, "defaultChannel") };
    else if (schema === Schema.channel) this.#package(packageName).channels.push({ ...subject, entries: readEntries(blob) });
    else if (schema === Schema.bundle) this.#addBundle(subject, blob);
    else if (schema === Schema.deprecations) addDeprecations(this.#package(packageName).deprecated, blob);
  }

  /** Returns the distinct images of bundles and their related images, in the order of the catalog. */
  images(): NamedImage[] {
    const found = new Map<string, NamedImage>();
    for (const { bundles } of this.packages.values()) {
      for (const bundle of bundles.values()) {
        const own = [
          { image: bundle.image, subject: bundle, path: ["image"] },
          ...bundle.relatedImages.map((image, i) => ({ image, subject: bundle, path: ["relatedImages", i, "image"] })),
        ];
        for (const one of own) if (one.image !== "" && !found.has(one.image)) found.set(one.image, one);
      }
    }
    return [...found.values()];
  }

  #package(name: string): LintedPackage {
    const known = this.packages.get(name);
    if (known) return known;
    const fresh = {
      name,
      package: undefined,
      channels: [],
      bundles: new Map(),
      deprecated: { channels: new Set<string>(), bundles: new Set<string>() },
    };
    this.packages.set(name, fresh);
    return fresh;
  }

  #addBundle(subject: FindingSubject, blob: JsonObject): void {
    const { bundles } = this.#package(subject.package);
    if (bundles.has(subject.name)) return;
    const given = getObjectMembers(blob, "properties");
    const csv = readCsvMetadata(given);
    bundles.set(subject.name, {
      ...subject,
      image: getTextMember(blob, "image"),
      relatedImages: getObjectMembers(blob, "relatedImages").map((related) => getTextMember(related, "image")),
      version: readOwnVersion(blob),
      properties: given.map((property, index) => {
        const type = getTextMember(property, "type");
        return { index, type, value: LARGE.has(type) ? undefined : findMember(property, "value") };
      }),
      hasCsv: csv !== undefined,
      requiredApis: collectApis([], csv).required,
      providedApis: collectApis(given, csv).provided,
    });
  }
}

function readEntries(blob: JsonObject): LintedEntry[] {
  return getObjectMembers(blob, "entries").map((entry, index) => ({
    index,
    name: getTextMember(entry, "name"),
    replaces: getTextMember(entry, "replaces"),
    skips: getListMember(entry, "skips").filter((skip) => typeof skip === "string"),
    skipRange: getOptionalText(entry, "skipRange"),
  }));
}

function addDeprecations({ channels, bundles }: LintedDeprecations, blob: JsonObject): void {
  for (const entry of getObjectMembers(blob, "entries")) {
    const reference = getObjectMember(entry, "reference") ?? {};
    const schema = getTextMember(reference, "schema");
    if (schema === Schema.channel) channels.add(getTextMember(reference, "name"));
    else if (schema === Schema.bundle) bundles.add(getTextMember(reference, "name"));
  }
}
