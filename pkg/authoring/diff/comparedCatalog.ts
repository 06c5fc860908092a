import type { JsonObject } from "../../api/k8s.ts";
import {
  type BundleVersion,
  compileRangeTest,
  findChannelHeads,
  parseVersionInName,
  readOwnVersion,
  toBundleVersion,
} from "../../fbc/bundleOrder.ts";
import { Schema } from "../../fbc/content.ts";
import type { Meta } from "../../fbc/types.ts";
import { findMember, getListMember, getObjectMember, getObjectMembers, getOptionalText, getTextMember } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";

/** The compared parts of a bundle. */
export interface ComparedBundle {
  readonly image: string;
  /** Version, with the release if there is one. */
  readonly version: string;
  /** Values by property type, in order. */
  readonly properties: ReadonlyMap<string, readonly unknown[]>;
  /** Sorted. */
  readonly relatedImages: readonly string[];
}

interface ComparedEntry {
  readonly name: string;
  readonly replaces: string | undefined;
  readonly skips: readonly string[];
  readonly skipRange: string | undefined;
}

/** The compared parts of a package. */
export class ComparedPackage {
  readonly name: string;
  defaultChannel = "";
  readonly bundles = new Map<string, ComparedBundle>();
  /** By schema and name of the reference. */
  readonly deprecations = new Map<string, { schema: string; name: string; message: string }>();
  readonly #entries = new Map<string, readonly ComparedEntry[]>();
  readonly #versions = new Map<string, BundleVersion>();

  constructor(name: string) {
    this.name = name;
  }

  addChannel(name: string, blob: JsonObject): void {
    const entries = getObjectMembers(blob, "entries").map((entry) => ({
      name: getTextMember(entry, "name"),
      replaces: getOptionalText(entry, "replaces"),
      skips: getListMember(entry, "skips").filter((skip) => typeof skip === "string"),
      skipRange: getOptionalText(entry, "skipRange"),
    }));
    this.#entries.set(name, entries);
  }

  addBundle(name: string, bundle: ComparedBundle, version: BundleVersion): void {
    this.bundles.set(name, bundle);
    this.#versions.set(name, version);
  }

  addDeprecations(blob: JsonObject): void {
    for (const entry of getObjectMembers(blob, "entries")) {
      const reference = getObjectMember(entry, "reference") ?? {};
      const [schema, name] = [getTextMember(reference, "schema"), getTextMember(reference, "name")];
      this.deprecations.set(JSON.stringify([schema, name]), { schema, name, message: getTextMember(entry, "message") });
    }
  }

  /** Entries of each channel with descriptions of their edges. */
  get channels(): ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> {
    return new Map([...this.#entries].map(([name, entries]) => [name, new Map(entries.map((entry) => [entry.name, listEdges(entry)]))]));
  }

  /** Reports whether a bundle is a channel head: no entry replaces or skips it. */
  isHead(channel: string, name: string): boolean {
    return findChannelHeads(this.#entries.get(channel) ?? []).includes(name);
  }

  /** Returns the upgrade targets in a channel for each bundle that the channel contains in this or the other package. */
  updatesIn(channel: string, other: ComparedPackage): ReadonlyMap<string, readonly string[]> {
    const entries = this.#entries.get(channel) ?? [];
    const names = [...entries, ...(other.#entries.get(channel) ?? [])].map(({ name }) => name);
    const tests = entries.map((entry) => ({ entry, holds: entry.skipRange ? compileRangeTest(entry.skipRange) : () => false }));
    return new Map(
      [...new Set(names)].map((name) => {
        const version = this.#versions.get(name) ?? other.#versions.get(name) ?? parseVersionInName(name);
        const followed = tests.filter(({ entry, holds }) => entry.replaces === name || entry.skips.includes(name) || holds(version));
        return [name, followed.map(({ entry }) => entry.name).filter((target) => target !== name)];
      }),
    );
  }
}

function listEdges({ replaces, skips, skipRange }: ComparedEntry): ReadonlySet<string> {
  return new Set([
    ...(replaces ? [`replaces ${goQuote(replaces)}`] : []),
    ...skips.map((skip) => `skips ${goQuote(skip)}`),
    ...(skipRange ? [`has skipRange ${goQuote(skipRange)}`] : []),
  ]);
}

/** The compared parts of a catalog. */
export class ComparedCatalog {
  readonly packages = new Map<string, ComparedPackage>();

  /**
   * Adds an object.
   * @param fingerprint converts each property value to the value that is stored and compared. Equal values must have equal fingerprints.
   */
  add({ schema, package: packageName, name, blob }: Meta, fingerprint: (value: unknown) => unknown): void {
    if (schema === Schema.package) this.#package(name).defaultChannel = getTextMember(blob, "defaultChannel");
    else if (schema === Schema.channel) this.#package(packageName).addChannel(name, blob);
    else if (schema === Schema.bundle)
      this.#package(packageName).addBundle(name, comparedBundle(blob, fingerprint), readOwnVersion(blob) ?? toBundleVersion(""));
    else if (schema === Schema.deprecations) this.#package(packageName).addDeprecations(blob);
  }

  #package(name: string): ComparedPackage {
    const known = this.packages.get(name);
    if (known) return known;
    const fresh = new ComparedPackage(name);
    this.packages.set(name, fresh);
    return fresh;
  }
}

function comparedBundle(blob: JsonObject, fingerprint: (value: unknown) => unknown): ComparedBundle {
  const properties = new Map<string, unknown[]>();
  for (const property of getObjectMembers(blob, "properties")) {
    const type = getTextMember(property, "type");
    properties.set(type, [...(properties.get(type) ?? []), fingerprint(findMember(property, "value"))]);
  }
  const relatedImages = getObjectMembers(blob, "relatedImages").map((related) => getTextMember(related, "image"));
  const { text = "", release = "" } = readOwnVersion(blob) ?? {};
  return {
    image: getTextMember(blob, "image"),
    version: release === "" ? text : `${text} release ${release}`,
    properties,
    relatedImages: relatedImages.sort(),
  };
}
