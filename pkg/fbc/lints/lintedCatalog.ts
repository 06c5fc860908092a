import type { JsonObject } from "../../api/k8s.ts";
import type { Subject } from "../checks/finding.ts";
import { Schema } from "../content.ts";
import { type BundleVersion, bundleVersion } from "../graph/bundleVersion.ts";
import { memberOf } from "../keys.ts";
import { givenText, listMember, objectMember, objectMembers, textMember } from "../members.ts";
import { apisOf } from "../summary/apis.ts";
import { csvMetadataFrom } from "../summary/csvMetadata.ts";
import type { PlacedMeta } from "../types.ts";
import type { YamlPath } from "../yamlLines.ts";
import { type FieldFault, fieldFaults } from "./fields.ts";

/** An entry of a channel; its place in the channel counts from 0. */
export interface LintedEntry {
  readonly index: number;
  readonly name: string;
  readonly replaces: string;
  readonly skips: readonly string[];
  readonly skipRange: string | undefined;
}

/** A channel with its entries, in their order. */
export interface LintedChannel extends Subject {
  readonly entries: readonly LintedEntry[];
}

/** A property of a bundle, with its position. */
export interface LintedProperty {
  readonly index: number;
  readonly type: string;
  /** Undefined of those that hold whole manifests. */
  readonly value: unknown;
}

/** A bundle as far as lints look at it. */
export interface LintedBundle extends Subject {
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
export interface LintedDeprecations {
  readonly channels: Set<string>;
  readonly bundles: Set<string>;
}

/** A package with everything that names it. */
export interface LintedPackage {
  readonly name: string;
  /** Of its olm.package; undefined where there is none. */
  package: (Subject & { readonly defaultChannel: string }) | undefined;
  readonly channels: LintedChannel[];
  /** By name; of several the first. */
  readonly bundles: Map<string, LintedBundle>;
  readonly deprecated: LintedDeprecations;
}

/** Members that are not known, and where. */
export interface LintedFields extends Subject {
  readonly faults: readonly FieldFault[];
}

/** An image and the bundle that names it first. */
export interface NamedImage {
  readonly image: string;
  readonly subject: Subject;
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

  #addBundle(subject: Subject, blob: JsonObject): void {
    const { bundles } = this.#package(subject.package);
    if (bundles.has(subject.name)) return;
    const given = objectMembers(blob, "properties");
    const own = given.find((property) => textMember(property, "type") === "olm.package");
    const value = own && objectMember(own, "value");
    const csv = csvMetadataFrom(given);
    bundles.set(subject.name, {
      ...subject,
      image: textMember(blob, "image"),
      relatedImages: objectMembers(blob, "relatedImages").map((related) => textMember(related, "image")),
      version: value && bundleVersion(textMember(value, "version"), givenText(value, "release")),
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
