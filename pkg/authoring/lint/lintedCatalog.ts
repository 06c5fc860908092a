import type { JsonObject } from "../../api/k8s.ts";
import { type BundleVersion, ownVersion } from "../../fbc/bundleOrder.ts";
import { Schema } from "../../fbc/content.ts";
import { apisOf, csvMetadataFrom } from "../../fbc/summary/csvMetadata.ts";
import type { PlacedMeta } from "../../fbc/types.ts";
import type { FindingSubject } from "../../fbc/validate/finding.ts";
import { SCHEMA_SHAPES, type Shape } from "../../fbc/validate/shape.ts";
import { foldKey, givenText, isObject, listMember, memberOf, objectMember, objectMembers, textMember } from "../../golang/members.ts";
import type { YamlPath } from "../../golang/yaml.ts";

/** A member of an object that OLM does not know by that name. */
interface FieldFault {
  readonly path: YamlPath;
  /** The name that is meant, where one is near. */
  readonly meant: string | undefined;
  /** Whether it is read all the same: only the case of its letters differs. */
  readonly isRead: boolean;
}

/** Members that every object has. */
const ROOT = ["schema", "package", "name", "properties"];
/** Texts that differ by more than this are not taken for one another. */
const MAX_DISTANCE = 2;
const MAX_FAULTS = 50;

/** The members of an object of a known schema that have no meaning, or are written in another case. */
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

/** The names as they are written, without those in lower case that stand beside them. */
function canonical(members: ReadonlyMap<string, Shape>): string[] {
  const names = [...members.keys()];
  return names.filter((name) => !names.some((other) => other !== name && other.toLowerCase() === name));
}

function nearest(key: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((name) => ({ name, distance: distanceOf(foldKey(key), foldKey(name)) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best && best.distance <= MAX_DISTANCE && best.distance < best.name.length / 2 ? best.name : undefined;
}

/** Letters to add, drop or change to make one text of the other; absurdly long ones are far from everything. */
function distanceOf(a: string, b: string): number {
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

/** An entry of a channel; its place in the channel counts from 0. */
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

/** A property of a bundle, with its position. */
interface LintedProperty {
  readonly index: number;
  readonly type: string;
  /** Undefined of those that hold whole manifests. */
  readonly value: unknown;
}

/** A bundle as far as lints look at it. */
export interface LintedBundle extends FindingSubject {
  readonly image: string;
  readonly relatedImages: readonly string[];
  readonly version: BundleVersion | undefined;
  readonly properties: readonly LintedProperty[];
  /** Whether the catalog tells anything of its ClusterServiceVersion. */
  readonly hasCsv: boolean;
  /** APIs that its ClusterServiceVersion requires, each as `group/version/kind`. */
  readonly requiredApis: readonly string[];
  readonly providedApis: readonly string[];
}

/** What of a package is deprecated. */
interface LintedDeprecations {
  readonly channels: Set<string>;
  readonly bundles: Set<string>;
}

/** A package with everything that names it. */
export interface LintedPackage {
  readonly name: string;
  /** Of its olm.package; undefined where there is none. */
  package: (FindingSubject & { readonly defaultChannel: string }) | undefined;
  readonly channels: LintedChannel[];
  /** By name; of several the first. */
  readonly bundles: Map<string, LintedBundle>;
  readonly deprecated: LintedDeprecations;
}

/** Members that are not known, and where. */
export interface LintedFields extends FindingSubject {
  readonly faults: readonly FieldFault[];
}

/** An image and the bundle that names it first. */
export interface NamedImage {
  readonly image: string;
  readonly subject: FindingSubject;
  readonly path: YamlPath;
}

/** Manifests are not kept. */
const LARGE = new Set(["olm.bundle.object", "olm.csv.metadata"]);

/** What the lints know of a catalog: names, edges, versions, images and requirements, no manifests. */
export class LintedCatalog {
  /** By name, in the catalog's order. */
  readonly packages = new Map<string, LintedPackage>();
  readonly fields: LintedFields[] = [];

  /** Takes the next object. */
  add({ schema, package: packageName, name, blob, place }: PlacedMeta): void {
    const subject = { schema, package: packageName, name, place };
    const faults = fieldFaults(schema, blob);
    if (faults.length > 0) this.fields.push({ ...subject, faults });
    if (schema === Schema.package) this.#package(name).package ??= { ...subject, defaultChannel: textMember(blob, "defaultChannel") };
    else if (schema === Schema.channel) this.#package(packageName).channels.push({ ...subject, entries: entriesOf(blob) });
    else if (schema === Schema.bundle) this.#addBundle(subject, blob);
    else if (schema === Schema.deprecations) addDeprecations(this.#package(packageName).deprecated, blob);
  }

  /** The images of bundles and related ones, each once, in the catalog's order. */
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
    const given = objectMembers(blob, "properties");
    const csv = csvMetadataFrom(given);
    bundles.set(subject.name, {
      ...subject,
      image: textMember(blob, "image"),
      relatedImages: objectMembers(blob, "relatedImages").map((related) => textMember(related, "image")),
      version: ownVersion(blob),
      properties: given.map((property, index) => {
        const type = textMember(property, "type");
        return { index, type, value: LARGE.has(type) ? undefined : memberOf(property, "value") };
      }),
      hasCsv: csv !== undefined,
      requiredApis: apisOf([], csv).required,
      providedApis: apisOf(given, csv).provided,
    });
  }
}

function entriesOf(blob: JsonObject): LintedEntry[] {
  return objectMembers(blob, "entries").map((entry, index) => ({
    index,
    name: textMember(entry, "name"),
    replaces: textMember(entry, "replaces"),
    skips: listMember(entry, "skips").filter((skip) => typeof skip === "string"),
    skipRange: givenText(entry, "skipRange"),
  }));
}

function addDeprecations({ channels, bundles }: LintedDeprecations, blob: JsonObject): void {
  for (const entry of objectMembers(blob, "entries")) {
    const reference = objectMember(entry, "reference") ?? {};
    const schema = textMember(reference, "schema");
    if (schema === Schema.channel) channels.add(textMember(reference, "name"));
    else if (schema === Schema.bundle) bundles.add(textMember(reference, "name"));
  }
}
