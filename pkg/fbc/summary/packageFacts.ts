import { createHash } from "node:crypto";
import { memberOf, objectAt, objectsAt } from "../../golang/members.ts";
import { compareText } from "../../text/compare.ts";
import { compareVersionRelease, parseVersionRelease, type VersionRelease } from "../../version/version.ts";
import { isName, MAX_TEXT, readBoundedText } from "../boundedTexts.ts";
import { channelHeads } from "../bundleOrder.ts";
import { packageOf, Schema } from "../content.ts";
import { ownText, Pool } from "../intern.ts";
import type { Meta } from "../types.ts";
import { type BundleDescription, type BundleSupport, bundleSummary, type StatedVersion } from "./bundleSummary.ts";

/** How much of one package is kept; what is beyond is only counted. Real packages have up to 300 bundles, 60 channels and 82 entries in a channel. */
export interface PackageLimits {
  bundles: number;
  channels: number;
  /** Of all channels together. */
  entries: number;
  /** Of one channel. */
  heads: number;
  deprecations: number;
  /** Of all different lists of APIs together. */
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

/** A bundle of a package; numbers are indexes into the pools of `PackageFacts`. */
export interface BundleFacts extends StatedVersion {
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
export interface ChannelFacts {
  readonly name: string;
  readonly heads: readonly string[];
  /** Names of bundles, in the catalog's order. */
  readonly entries: readonly string[];
}

/** What the olm.package object of a package says. */
export interface StatedPackage {
  defaultChannel?: string | undefined;
  description?: string | undefined;
  icon: boolean;
}

/** One statement that something is deprecated. */
export interface Deprecation {
  readonly schema: string;
  /** Empty for the package itself. */
  readonly name: string;
  readonly message: string;
}

const LONG_DESCRIPTION = 4_096;

/** What has been learnt of one package from its metas so far; none of them is kept. */
export class PackageFacts {
  readonly name: string;
  readonly descriptions: Pool<BundleDescription> = new Pool();
  readonly supports: Pool<BundleSupport> = new Pool();
  /** Each a list of `group/version/kind`. */
  readonly apis: Pool<string[]> = new Pool();
  readonly bundles: BundleFacts[] = [];
  readonly channels: ChannelFacts[] = [];
  readonly #limits: PackageLimits;
  readonly #names = new Map<string, string>();
  readonly #hashes: Buffer[] = [];
  #stated: StatedPackage | undefined;
  #deprecations: Deprecation[] | undefined;
  #entries = 0;
  #apis = 0;
  #bundles = 0;
  #incomplete = false;

  constructor(name: string, limits: PackageLimits = PACKAGE_LIMITS) {
    this.name = ownText(name);
    this.#limits = limits;
  }

  /** What the olm.package object says; the first where there are several. */
  get stated(): StatedPackage {
    return this.#stated ?? { icon: false };
  }

  /** What the first olm.deprecations object says, since the others do not count. */
  get deprecations(): readonly Deprecation[] {
    return this.#deprecations ?? [];
  }

  /** How many bundles there are, kept or not. */
  get bundleCount(): number {
    return this.#bundles;
  }

  /** True when something went beyond a limit, so that lists are shorter than the package. */
  get incomplete(): boolean {
    return this.#incomplete;
  }

  /** `sha256:` and a hash that is equal for the same metas in any order. */
  get digest(): string {
    const hash = createHash("sha256");
    for (const one of this.#hashes.toSorted((a, b) => Buffer.compare(a, b))) hash.update(one);
    return `sha256:${hash.digest("hex")}`;
  }

  /** @param sha256 of the meta's canonical form. */
  add(meta: Meta, sha256: Buffer): void {
    this.#hashes.push(sha256);
    if (meta.schema === Schema.package) this.#stated ??= statedPackage(meta);
    else if (meta.schema === Schema.channel) this.#addChannel(meta);
    else if (meta.schema === Schema.bundle) this.#addBundle(meta);
    else if (meta.schema === Schema.deprecations) this.#deprecations ??= this.#deprecationsIn(meta);
  }

  #addBundle(meta: Meta): void {
    this.#bundles++;
    if (!this.#keeps(isName(meta.name) && this.bundles.length < this.#limits.bundles)) return;
    const { description, support, apis, version, release, containerImage, createdAt, relatedImages } = bundleSummary(meta);
    this.bundles.push({
      name: this.#own(meta.name),
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
    const index = this.apis.add(this.#keeps(this.#apis + list.length <= this.#limits.apis) ? list : []);
    if (index === known) this.#apis += list.length;
    return index;
  }

  #addChannel({ name, blob }: Meta): void {
    if (!this.#keeps(isName(name) && this.channels.length < this.#limits.channels)) return;
    const graph = objectsAt(blob, "entries").flatMap((entry) => {
      const own = memberOf(entry, "name");
      const replaces = memberOf(entry, "replaces");
      const skips = memberOf(entry, "skips");
      if (!isName(own)) return [];
      return [{ name: own, replaces: isName(replaces) ? replaces : undefined, skips: Array.isArray(skips) ? skips.filter(isName) : [] }];
    });
    const heads = channelHeads(graph);
    this.#keeps(heads.length <= this.#limits.heads);
    const room = this.#limits.entries - this.#entries;
    this.#keeps(graph.length <= room);
    const entries = graph.slice(0, room).map((entry) => this.#own(entry.name));
    this.#entries += entries.length;
    this.channels.push({ name: ownText(name), heads: heads.slice(0, this.#limits.heads).map((head) => this.#own(head)), entries });
  }

  #deprecationsIn({ blob }: Meta): Deprecation[] {
    const entries = objectsAt(blob, "entries");
    this.#keeps(entries.length <= this.#limits.deprecations);
    return entries.slice(0, this.#limits.deprecations).map((entry) => {
      const reference = objectAt(entry, "reference");
      const text = (key: "schema" | "name"): string => ownText(readBoundedText(reference, key) ?? "");
      return { schema: text("schema"), name: text("name"), message: ownText(readBoundedText(entry, "message", MAX_TEXT) ?? "") };
    });
  }

  /** Takes note of what is left out. */
  #keeps(kept: boolean): boolean {
    if (!kept) this.#incomplete = true;
    return kept;
  }

  /** The same text for the same name, so that channels and bundles share it. */
  #own(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const own = ownText(name);
    this.#names.set(own, own);
    return own;
  }
}

/** Bundles with the highest version first, then the highest release, then by name; those without a version last. */
export function sortBundlesByVersion(bundles: readonly BundleFacts[]): BundleFacts[] {
  const read = bundles.map((bundle) => ({ bundle, parsed: versionIn(bundle) }));
  read.sort((a, b) => compareParsed(a.parsed, b.parsed) || compareText(a.bundle.name, b.bundle.name));
  return read.map(({ bundle }) => bundle);
}

/** The version and release that a bundle states; undefined where none can be read. */
export function versionIn({ version, release }: StatedVersion): VersionRelease | undefined {
  return version === undefined ? undefined : parseVersionRelease(version, release);
}

function compareParsed(a: VersionRelease | undefined, b: VersionRelease | undefined): number {
  return a && b ? compareVersionRelease(b, a) : Number(!a) - Number(!b);
}

function statedPackage({ blob }: Meta): StatedPackage {
  return {
    defaultChannel: owned(readBoundedText(blob, "defaultChannel")),
    description: owned(readBoundedText(blob, "description", LONG_DESCRIPTION)),
    icon: readBoundedText(objectAt(blob, "icon"), "base64data", 1) !== undefined,
  };
}

function owned(text: string | undefined): string | undefined {
  return text === undefined ? undefined : ownText(text);
}

/** What has been learnt of the packages of a catalog. */
export class CatalogFacts {
  readonly #packages = new Map<string, PackageFacts>();

  /** The packages with at least one meta, by name. Metas that name no package, or one with an impossibly long name, belong to none. */
  get packages(): PackageFacts[] {
    return [...this.#packages.values()].sort((a, b) => compareText(a.name, b.name));
  }

  /** @param meta is not kept. @param sha256 of its canonical form. */
  add(meta: Meta, sha256: Buffer): void {
    const name = packageOf(meta);
    if (!isName(name)) return;
    let facts = this.#packages.get(name);
    if (!facts) {
      facts = new PackageFacts(name);
      this.#packages.set(facts.name, facts);
    }
    facts.add(meta, sha256);
  }
}
