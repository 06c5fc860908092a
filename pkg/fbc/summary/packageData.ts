import { createHash } from "node:crypto";
import { findMember, getObjectAt, getObjectsAt } from "../../golang/members.ts";
import { compareText } from "../../text/compare.ts";
import { compareVersionRelease, parseVersionRelease, type VersionRelease } from "../../version/version.ts";
import { isName, MAX_TEXT, readBoundedText } from "../boundedTexts.ts";
import { findChannelHeads } from "../bundleOrder.ts";
import { getPackageName, Schema } from "../content.ts";
import { copyText, Pool } from "../intern.ts";
import { addLifecycle, LIFECYCLE_SCHEMA, type PackageLifecycle } from "../lifecycleDocument.ts";
import type { Meta } from "../types.ts";
import { findVersionSupport, type SupportQuery, type VersionSupport } from "../versionSupport.ts";
import { type BundleDescription, type BundleSupport, type StatedVersion, summarizeCatalogBundle } from "./bundleSummary.ts";

/**
 * Limits for one package. Items beyond a limit are counted, but not kept. Real packages have up to 300 bundles, 60 channels and 82 entries in a
 * channel.
 */
export interface PackageLimits {
  bundles: number;
  channels: number;
  /** Maximum entries of all channels together. */
  entries: number;
  /** Maximum heads of one channel. */
  heads: number;
  deprecations: number;
  /** Maximum APIs in all distinct lists together. */
  apis: number;
}

const PACKAGE_LIMITS: PackageLimits = {
  bundles: 5_000,
  channels: 1_000,
  entries: 50_000,
  heads: 1_000,
  deprecations: 5_000,
  apis: 50_000,
};

/** A bundle of a package. Numbers are indexes in the pools of `PackageData`. */
export interface BundleData extends StatedVersion {
  readonly name: string;
  readonly description: number;
  readonly support: number;
  readonly provided: number;
  readonly required: number;
  readonly containerImage?: string | undefined;
  readonly createdAt?: string | undefined;
  readonly relatedImages: number;
}

/** A channel of a package. */
export interface ChannelData {
  readonly name: string;
  readonly heads: readonly string[];
  /** Names of bundles, in the order of the catalog. */
  readonly entries: readonly string[];
}

/** The fields of the olm.package object. */
export interface StatedPackage {
  defaultChannel?: string | undefined;
  description?: string | undefined;
  icon: boolean;
}

/** A deprecation of a package, channel or bundle. */
export interface Deprecation {
  readonly schema: string;
  /** Empty for the package. */
  readonly name: string;
  readonly message: string;
}

const LONG_DESCRIPTION = 4_096;

/** The data of a package for summaries and search, collected from its metas. Keeps no metas. */
export class PackageData {
  readonly name: string;
  readonly descriptions: Pool<BundleDescription> = new Pool();
  readonly supports: Pool<BundleSupport> = new Pool();
  /** Lists of `group/version/kind`. */
  readonly apis: Pool<string[]> = new Pool();
  readonly bundles: BundleData[] = [];
  readonly channels: ChannelData[] = [];
  readonly #limits: PackageLimits;
  readonly #names = new Map<string, string>();
  readonly #hashes: Buffer[] = [];
  #stated: StatedPackage | undefined;
  #deprecations: Deprecation[] | undefined;
  #lifecycle: PackageLifecycle | undefined;
  #entries = 0;
  #apis = 0;
  #bundles = 0;
  #incomplete = false;

  constructor(name: string, limits: PackageLimits = PACKAGE_LIMITS) {
    this.name = copyText(name);
    this.#limits = limits;
  }

  /** The fields of the first olm.package object. */
  get stated(): StatedPackage {
    return this.#stated ?? { icon: false };
  }

  /** The deprecations in the first olm.deprecations object. Other olm.deprecations objects are ignored. */
  get deprecations(): readonly Deprecation[] {
    return this.#deprecations ?? [];
  }

  /** The support phases; undefined if the catalog has none. */
  get lifecycle(): PackageLifecycle | undefined {
    return this.#lifecycle;
  }

  /** Number of all bundles, including omitted ones. */
  get bundleCount(): number {
    return this.#bundles;
  }

  /** Whether lists are incomplete because the package exceeds a limit. */
  get incomplete(): boolean {
    return this.#incomplete;
  }

  /** `sha256:`, followed by a hash of the metas. The hash does not depend on their order. */
  get digest(): string {
    const hash = createHash("sha256");
    for (const one of this.#hashes.toSorted((a, b) => Buffer.compare(a, b))) hash.update(one);
    return `sha256:${hash.digest("hex")}`;
  }

  /** Adds a meta. @param sha256 hash of its canonical form. */
  add(meta: Meta, sha256: Buffer): void {
    this.#hashes.push(sha256);
    if (meta.schema === Schema.package) this.#stated ??= statedPackage(meta);
    else if (meta.schema === Schema.channel) this.#addChannel(meta);
    else if (meta.schema === Schema.bundle) this.#addBundle(meta);
    else if (meta.schema === Schema.deprecations) this.#deprecations ??= this.#deprecationsIn(meta);
    else if (meta.schema === LIFECYCLE_SCHEMA) this.#lifecycle = addLifecycle(this.#lifecycle, meta.blob);
  }

  #addBundle(meta: Meta): void {
    this.#bundles++;
    if (!this.#accept(isName(meta.name) && this.bundles.length < this.#limits.bundles)) return;
    const { description, support, apis, version, release, containerImage, createdAt, relatedImages } = summarizeCatalogBundle(meta);
    this.bundles.push({
      name: this.#intern(meta.name),
      version: owned(version),
      release: owned(release),
      description: this.descriptions.add(description),
      support: this.supports.add(support),
      provided: this.#addApis(apis.provided),
      required: this.#addApis(apis.required),
      containerImage: owned(containerImage),
      createdAt: owned(createdAt),
      relatedImages,
    });
  }

  #addApis(list: string[]): number {
    const known = this.apis.values.length;
    const index = this.apis.add(this.#accept(this.#apis + list.length <= this.#limits.apis) ? list : []);
    if (index === known) this.#apis += list.length;
    return index;
  }

  #addChannel({ name, blob }: Meta): void {
    if (!this.#accept(isName(name) && this.channels.length < this.#limits.channels)) return;
    const graph = getObjectsAt(blob, "entries").flatMap((entry) => {
      const own = findMember(entry, "name");
      const replaces = findMember(entry, "replaces");
      const skips = findMember(entry, "skips");
      if (!isName(own)) return [];
      return [{ name: own, replaces: isName(replaces) ? replaces : undefined, skips: Array.isArray(skips) ? skips.filter(isName) : [] }];
    });
    const heads = findChannelHeads(graph);
    this.#accept(heads.length <= this.#limits.heads);
    const room = this.#limits.entries - this.#entries;
    this.#accept(graph.length <= room);
    const entries = graph.slice(0, room).map((entry) => this.#intern(entry.name));
    this.#entries += entries.length;
    this.channels.push({ name: copyText(name), heads: heads.slice(0, this.#limits.heads).map((head) => this.#intern(head)), entries });
  }

  #deprecationsIn({ blob }: Meta): Deprecation[] {
    const entries = getObjectsAt(blob, "entries");
    this.#accept(entries.length <= this.#limits.deprecations);
    return entries.slice(0, this.#limits.deprecations).map((entry) => {
      const reference = getObjectAt(entry, "reference");
      const text = (key: "schema" | "name"): string => copyText(readBoundedText(reference, key) ?? "");
      return { schema: text("schema"), name: text("name"), message: copyText(readBoundedText(entry, "message", MAX_TEXT) ?? "") };
    });
  }

  /** Marks the package as incomplete if an item is not accepted. @returns `isAccepted` */
  #accept(isAccepted: boolean): boolean {
    if (!isAccepted) this.#incomplete = true;
    return isAccepted;
  }

  /** Returns one copy for equal names, so that channels and bundles share memory. */
  #intern(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const own = copyText(name);
    this.#names.set(own, own);
    return own;
  }
}

/** Sorts bundles in descending order of version and release, then by name. Bundles without a version are last. */
export function sortBundlesByVersion(bundles: readonly BundleData[]): BundleData[] {
  const read = bundles.map((bundle) => ({ bundle, parsed: parseStatedVersion(bundle) }));
  read.sort((a, b) => compareParsed(a.parsed, b.parsed) || compareText(a.bundle.name, b.bundle.name));
  return read.map(({ bundle }) => bundle);
}

/** Parses the version and release of a bundle; undefined if it has no valid version. */
export function parseStatedVersion({ version, release }: StatedVersion): VersionRelease | undefined {
  return version === undefined ? undefined : parseVersionRelease(version, release);
}

/** Returns the support of a bundle; undefined if the catalog has no support phases of the package. */
export function findBundleSupport(
  lifecycle: PackageLifecycle | undefined,
  stated: StatedVersion,
  query: SupportQuery,
): VersionSupport | undefined {
  return lifecycle && findVersionSupport(lifecycle, parseStatedVersion(stated)?.version, query);
}

function compareParsed(a: VersionRelease | undefined, b: VersionRelease | undefined): number {
  return a && b ? compareVersionRelease(b, a) : Number(!a) - Number(!b);
}

function statedPackage({ blob }: Meta): StatedPackage {
  return {
    defaultChannel: owned(readBoundedText(blob, "defaultChannel")),
    description: owned(readBoundedText(blob, "description", LONG_DESCRIPTION)),
    icon: readBoundedText(getObjectAt(blob, "icon"), "base64data", 1) !== undefined,
  };
}

function owned(text: string | undefined): string | undefined {
  return text === undefined ? undefined : copyText(text);
}

/** The data of all packages of a catalog. */
export class CatalogData {
  readonly #packages = new Map<string, PackageData>();

  /** All packages with at least one meta, sorted by name. Ignores metas without a package or with an invalid package name. */
  get packages(): PackageData[] {
    return [...this.#packages.values()].sort((a, b) => compareText(a.name, b.name));
  }

  /** Adds a meta without keeping it. @param sha256 hash of its canonical form. */
  add(meta: Meta, sha256: Buffer): void {
    const name = getPackageName(meta);
    if (!isName(name)) return;
    let data = this.#packages.get(name);
    if (!data) {
      data = new PackageData(name);
      this.#packages.set(data.name, data);
    }
    data.add(meta, sha256);
  }
}
