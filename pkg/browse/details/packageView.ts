import { type BundleDetails, readBundleDetails, readExampleKind } from "../../fbc/summary/bundleDetails.ts";
import { type BundleDescription, type BundleSupport, type StatedVersion, summarizeCatalogBundle } from "../../fbc/summary/bundleSummary.ts";
import { type BundleData, findBundleSupport, type PackageData } from "../../fbc/summary/packageData.ts";
import { type ChannelSummary, findDeprecationMessage, formatDeprecation, summarizePackage } from "../../fbc/summary/packageSummary.ts";
import type { FbcBundle, Meta } from "../../fbc/types.ts";
import type { SupportQuery, VersionSupport } from "../../fbc/versionSupport.ts";
import { describeConstraint } from "../../resolve/constraint/evaluate.ts";
import { parseConstraints } from "../../resolve/constraint/parse.ts";

/** One version of a package, as printed by `show`. */
interface VersionView extends StatedVersion, BundleSupport {
  readonly bundle: string;
  /** The image of the bundle. */
  readonly image?: string | undefined;
  /** Image of the operator, according to the bundle author. */
  readonly containerImage?: string | undefined;
  readonly createdAt?: string | undefined;
  readonly relatedImages: readonly string[];
  readonly channels: readonly string[];
  readonly deprecated?: string | undefined;
  /** Absent if the catalog has no support phases of the package, or the time is not known. */
  readonly lifecycle?: VersionSupport | undefined;
  /** Each `group/version/kind`. */
  readonly providedAPIs: readonly string[];
  readonly requiredAPIs: readonly string[];
  /** Descriptions of its dependencies. */
  readonly requires: readonly string[];
}

/** A package and one version of it. */
export interface PackageView extends Omit<BundleDescription, "description">, Omit<BundleDetails, "examples"> {
  readonly package: string;
  readonly catalog: string;
  readonly description?: string | undefined;
  readonly deprecated?: string | undefined;
  readonly defaultChannel?: string | undefined;
  readonly channels: readonly ChannelSummary[];
  readonly deprecatedBundles: readonly { readonly bundle: string; readonly message: string }[];
  /** Highest first. */
  readonly versions: readonly string[];
  /** The default version of a new installation, which resolution selects without a version range or channels. */
  readonly defaultVersion?: string | undefined;
  /** The latest version, deprecated or not. */
  readonly latestVersion?: string | undefined;
  /** The described version. */
  readonly version: VersionView;
  /** Kinds that have examples; absent if the catalog does not contain examples. */
  readonly exampleKinds?: readonly string[] | undefined;
  /** Other catalogs with the package, and their head versions. */
  readonly alsoIn: readonly { readonly catalog: string; readonly version?: string | undefined }[];
}

/** A package in a catalog, and one of its bundles. */
export interface ViewedPackage {
  /** When and where support is determined; if absent, the description has no support. */
  readonly when?: SupportQuery | undefined;
  readonly catalog: string;
  readonly facts: PackageData;
  readonly bundle: BundleData;
  /** The olm.bundle object of the bundle; undefined if the catalog does not contain it. */
  readonly meta: Meta | undefined;
  /** The same object in its typed form. */
  readonly stated: FbcBundle | undefined;
}

/** Returns the description of a package and one of its versions. */
export function buildPackageView(
  { when, catalog, facts, bundle, meta, stated }: ViewedPackage,
  alsoIn: PackageView["alsoIn"],
): PackageView {
  const summary = summarizePackage(facts);
  const present = meta ?? { schema: "", package: "", name: "", blob: {} };
  const { description, support, apis } = summarizeCatalogBundle(present);
  const { examples, ...details } = readDetails(present);
  return {
    package: facts.name,
    catalog,
    ...description,
    description: description.description ?? facts.stated.description,
    deprecated: summary.deprecated,
    defaultChannel: summary.defaultChannel,
    channels: summary.channels,
    deprecatedBundles: summary.deprecatedBundles ?? [],
    versions: summary.versions,
    defaultVersion: summary.head?.version,
    latestVersion: summary.latest?.version,
    version: {
      bundle: bundle.name,
      version: bundle.version,
      release: bundle.release,
      image: stated?.image === "" ? undefined : stated?.image,
      containerImage: bundle.containerImage,
      createdAt: bundle.createdAt,
      relatedImages: (stated?.relatedImages ?? []).map(({ image }) => image),
      channels: facts.channels.filter(({ entries }) => entries.includes(bundle.name)).map(({ name }) => name),
      deprecated: findDeprecationMessage(facts, "olm.bundle", bundle.name),
      lifecycle: when && findBundleSupport(facts.lifecycle, bundle, when),
      ...support,
      providedAPIs: apis.provided,
      requiredAPIs: apis.required,
      requires: stated ? describeRequirements(stated) : [],
    },
    ...details,
    exampleKinds: examples?.map(readExampleKind),
    alsoIn,
  };
}

/** Ignores invalid examples; `show --examples` reports them. */
function readDetails(meta: Meta): BundleDetails {
  try {
    return readBundleDetails(meta, { examples: true });
  } catch {
    return { ...readBundleDetails(meta), examples: undefined };
  }
}

/** Describes constraints, including invalid ones. */
function describeRequirements(bundle: FbcBundle): string[] {
  const { constraints, faults } = parseConstraints(bundle, { compile: () => () => false });
  return [...constraints.map(describeConstraint), ...faults.map(({ type, reason }) => `invalid ${type}: ${reason}`)];
}

/** One version of a package in one catalog. */
export interface VersionSummary {
  readonly catalog: string;
  readonly bundle: string;
  readonly version?: string | undefined;
  readonly release?: string | undefined;
  readonly channels: readonly string[];
  /** The channels whose head is this version. */
  readonly headOf: readonly string[];
  readonly createdAt?: string | undefined;
  /** Why the bundle, its package, or all of its channels are deprecated. */
  readonly deprecated?: string | undefined;
  /** Absent if the catalog has no support phases of the package. */
  readonly support?: VersionSupport | undefined;
}

/** A channel of a bundle. */
interface BundleChannel {
  readonly name: string;
  readonly isHead: boolean;
}

/** Which versions to summarize, and how. */
interface SummaryQuery {
  /** The channels to list; empty for all. */
  readonly channels?: readonly string[];
  /** If absent, summaries have no support. */
  readonly when?: SupportQuery | undefined;
}

/** Summarizes the versions of a package in a catalog. Reads its channels and deprecations once, because it can have thousands of each. */
export class VersionSummaries {
  readonly #viewed: Pick<ViewedPackage, "catalog" | "facts">;
  readonly #query: SummaryQuery;
  /** By bundle, in the order of the catalog. */
  readonly #channels = new Map<string, BundleChannel[]>();
  /** By schema, then by name. */
  readonly #deprecations = new Map<string, Map<string, string>>();

  constructor(viewed: Pick<ViewedPackage, "catalog" | "facts">, query: SummaryQuery = {}) {
    this.#viewed = viewed;
    this.#query = query;
    for (const { name, heads, entries } of viewed.facts.channels) {
      const isHead = new Set(heads);
      for (const entry of new Set(entries)) {
        const known = this.#channels.get(entry) ?? [];
        this.#channels.set(entry, known);
        known.push({ name, isHead: isHead.has(entry) });
      }
    }
    for (const deprecation of viewed.facts.deprecations) {
      const { schema, name } = deprecation;
      const known = this.#deprecations.get(schema) ?? new Map<string, string>();
      this.#deprecations.set(schema, known);
      if (!known.has(name)) known.set(name, formatDeprecation(deprecation));
    }
  }

  summarize(bundle: BundleData): VersionSummary {
    const { catalog, facts } = this.#viewed;
    const { channels: requested = [], when } = this.#query;
    const support = when && findBundleSupport(facts.lifecycle, bundle, when);
    const own = this.#channels.get(bundle.name) ?? [];
    const shown = own.filter(({ name }) => requested.length === 0 || requested.includes(name));
    const byChannel = own.map(({ name }) => this.#findDeprecation("olm.channel", name));
    return {
      catalog,
      bundle: bundle.name,
      version: bundle.version,
      release: bundle.release,
      channels: shown.map(({ name }) => name),
      headOf: shown.filter(({ isHead }) => isHead).map(({ name }) => name),
      createdAt: bundle.createdAt,
      deprecated:
        this.#findDeprecation("olm.bundle", bundle.name) ??
        this.#findDeprecation("olm.package") ??
        (byChannel.every((message) => message !== undefined) ? byChannel[0] : undefined),
      ...(support ? { support } : {}),
    };
  }

  #findDeprecation(schema: string, name = ""): string | undefined {
    return this.#deprecations.get(schema)?.get(name);
  }
}
