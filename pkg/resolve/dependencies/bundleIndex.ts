import { Schema } from "../../fbc/content.ts";
import type { FbcBundle, Meta, Property } from "../../fbc/types.ts";
import { isObject } from "../../golang/members.ts";
import { compareText } from "../../text/compare.ts";
import { type Gvk, usesCel } from "../constraint/constraint.ts";
import { getGvkKey } from "../constraint/parse.ts";

/** A bundle of a catalog with the properties that the dependency solver needs: all except manifests. Bundles share equal property objects. */
export type AvailableBundle = Readonly<Pick<FbcBundle, "package" | "name" | "properties">>;

/** Properties that contain manifests. Constraints never refer to them, and they are the largest part of a catalog. */
const MANIFESTS: ReadonlySet<unknown> = new Set(["olm.bundle.object", "olm.csv.metadata"]);

/** Returns a line of the properties endpoint, or a meta of schema olm.bundle, with only the fields that `BundleIndexBuilder.add` reads. */
export function trimIndexMeta({ blob, ...meta }: Meta): Meta {
  const { bundle, properties } = blob;
  const kept = Array.isArray(properties) ? properties.filter((property) => isObject(property) && !MANIFESTS.has(property["type"])) : [];
  return { ...meta, blob: { ...(bundle !== undefined && { bundle }), properties: kept } };
}

/** The limits of an index. */
export interface IndexLimits {
  readonly maxBundles: number;
  /** Total of distinct properties as JSON, in characters. */
  readonly maxCharacters: number;
}

const LIMITS: IndexLimits = { maxBundles: 200_000, maxCharacters: 64 * 1024 * 1024 };

/** Indexes the bundles of a catalog by package, and its packages by provided API. */
export class BundleIndex {
  readonly #bundles: ReadonlyMap<string, readonly AvailableBundle[]>;
  readonly #providers: ReadonlyMap<string, readonly string[]>;
  /** Whether a bundle may contain a CEL rule. */
  readonly mentionsCel: boolean;
  #packages: readonly string[] | undefined;

  constructor(bundles: ReadonlyMap<string, readonly AvailableBundle[]>, providers: ReadonlyMap<string, readonly string[]>, hasCel = false) {
    this.#bundles = bundles;
    this.#providers = providers;
    this.mentionsCel = hasCel;
  }

  /** Returns the bundles of a package, in the catalog's order. */
  bundlesOf(packageName: string): readonly AvailableBundle[] {
    return this.#bundles.get(packageName) ?? [];
  }

  /** Returns the names of the packages with at least one bundle that provides the API. */
  packagesProviding(gvk: Gvk): readonly string[] {
    return this.#providers.get(getGvkKey(gvk)) ?? [];
  }

  /** The names of all packages, sorted on first use. */
  get packages(): readonly string[] {
    this.#packages ??= [...this.#bundles.keys()].sort(compareText);
    return this.#packages;
  }
}

/** Builds a BundleIndex from the lines of a catalog, in their order. */
export class BundleIndexBuilder {
  readonly #limits: IndexLimits;
  readonly #bundles = new Map<string, AvailableBundle[]>();
  readonly #providers = new Map<string, Set<string>>();
  /** Properties by their JSON, because most bundles of a package have the same properties. */
  readonly #properties = new Map<string, Property>();
  #bundleCount = 0;
  #characters = 0;
  #hasCel = false;

  constructor(limits: IndexLimits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Adds one line of the properties endpoint or a meta of schema olm.bundle; ignores anything else, and bundles without a package.
   * @throws Error if the limits of the index are exceeded
   */
  add({ schema, package: packageName, name, blob }: Meta): void {
    const bundleName = schema === "" ? blob["bundle"] : name;
    const { properties } = blob;
    if ((schema !== "" && schema !== Schema.bundle) || packageName === "" || typeof bundleName !== "string" || bundleName === "") return;
    if (++this.#bundleCount > this.#limits.maxBundles) throw new Error(`the catalog has more than ${this.#limits.maxBundles} bundles`);
    const kept = Array.isArray(properties) ? properties.flatMap((property: unknown) => this.#property(property)) : [];
    const bundle = { package: packageName, name: bundleName, properties: kept };
    const others = this.#bundles.get(packageName);
    if (others) others.push(bundle);
    else this.#bundles.set(packageName, [bundle]);
    for (const { type, value } of kept) if (type === "olm.gvk") this.#provide(packageName, value);
  }

  build(): BundleIndex {
    return new BundleIndex(
      this.#bundles,
      new Map([...this.#providers].map(([api, packages]) => [api, [...packages].sort()])),
      this.#hasCel,
    );
  }

  #property(property: unknown): Property[] {
    if (!isObject(property) || typeof property["type"] !== "string" || MANIFESTS.has(property["type"])) return [];
    const { type, value } = property;
    const key = JSON.stringify([type, value]);
    const known = this.#properties.get(key);
    if (known) return [known];
    this.#characters += key.length;
    if (this.#characters > this.#limits.maxCharacters)
      throw new Error(`the bundle properties in the catalog have more than ${this.#limits.maxCharacters} characters`);
    const kept = { type, value };
    this.#hasCel ||= usesCel([kept]);
    this.#properties.set(key, kept);
    return [kept];
  }

  #provide(packageName: string, value: unknown): void {
    if (!isObject(value)) return;
    const { group, version, kind } = value;
    if (typeof group !== "string" || typeof version !== "string" || typeof kind !== "string") return;
    const key = getGvkKey({ group, version, kind });
    const packages = this.#providers.get(key);
    if (packages) packages.add(packageName);
    else this.#providers.set(key, new Set([packageName]));
  }
}
