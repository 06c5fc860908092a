import { type BundleDetails, bundleDetails, kindOfExample } from "../../../pkg/fbc/summary/bundleDetails.ts";
import { type BundleDescription, type BundleSupport, bundleSummary, type StatedVersion } from "../../../pkg/fbc/summary/bundleSummary.ts";
import type { BundleFacts } from "../../../pkg/fbc/summary/packageFacts.ts";
import { type ChannelSummary, messageFor, packageSummary, presentedBy } from "../../../pkg/fbc/summary/packageSummary.ts";
import { constraintsOf } from "../../../pkg/resolve/constraint/parse.ts";
import { describe } from "../../../pkg/resolve/constraint/evaluate.ts";
import { bundleMeant, headOf, type PackageIn } from "./packageIn.ts";

/** One version of a package, as `show` tells it. */
export interface VersionView extends StatedVersion, BundleSupport {
  readonly bundle: string;
  /** Where it comes from. */
  readonly image?: string | undefined;
  /** Image of the operator itself, as its author states it. */
  readonly containerImage?: string | undefined;
  readonly createdAt?: string | undefined;
  readonly relatedImages: readonly string[];
  readonly channels: readonly string[];
  readonly deprecated?: string | undefined;
  /** Each `group/version/kind`. */
  readonly providedAPIs: readonly string[];
  readonly requiredAPIs: readonly string[];
  /** What it asks of other bundles, in words. */
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
  /** The default version to install, which resolution chooses where nothing limits it. */
  readonly defaultVersion?: string | undefined;
  /** The latest version, deprecated or not. */
  readonly latestVersion?: string | undefined;
  /** The one that is described. */
  readonly version: VersionView;
  /** Kinds of the examples that it brings; absent where the catalog does not keep them. */
  readonly exampleKinds?: readonly string[] | undefined;
  /** Other catalogs that have the package, with the version that each presents it by. */
  readonly alsoIn: readonly { readonly catalog: string; readonly version?: string | undefined }[];
}

/** Which version of a package is meant; the one that the package is presented by without either. */
export interface VersionAsked {
  readonly version?: string | undefined;
  readonly channel?: string | undefined;
}

/** The bundle that is asked for, and its meta. @throws Error where there is none. */
export function bundleAsked(found: PackageIn, { version, channel }: VersionAsked): BundleFacts {
  const bundle =
    version !== undefined ? bundleMeant(found, version) : channel !== undefined ? headOf(found, channel) : presentedBy(found.facts)?.bundle;
  if (!bundle)
    throw new Error(
      `package "${found.name}" has no ${channel === undefined ? "bundles" : `head in channel "${channel}"`} in catalog ${found.catalog}`,
    );
  return bundle;
}

/** What there is to tell of a package and one of its versions. @param others the package in further catalogs. */
export function packageView(found: PackageIn, bundle: BundleFacts, others: readonly PackageIn[]): PackageView {
  const { facts, content, metas, catalog } = found;
  const summary = packageSummary(facts);
  const meta = metas.find(({ schema, name }) => schema === "olm.bundle" && name === bundle.name) ?? {
    schema: "",
    package: "",
    name: "",
    blob: {},
  };
  const { description, support, apis } = bundleSummary(meta);
  const { examples, ...details } = bundleDetailsOf(meta);
  const stated = content.bundles.find(({ name }) => name === bundle.name);
  return {
    package: found.name,
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
      deprecated: messageFor(facts, "olm.bundle", bundle.name),
      ...support,
      providedAPIs: apis.provided,
      requiredAPIs: apis.required,
      requires: stated ? requirementsOf(stated) : [],
    },
    ...details,
    exampleKinds: examples?.map(kindOfExample),
    alsoIn: others.map((other) => ({ catalog: other.catalog, version: presentedBy(other.facts)?.bundle.version })),
  };
}

/** Examples that cannot be read are none here; whoever wants them is told. */
function bundleDetailsOf(meta: Parameters<typeof bundleDetails>[0]): BundleDetails {
  try {
    return bundleDetails(meta, { examples: true });
  } catch {
    return { ...bundleDetails(meta), examples: undefined };
  }
}

/** Constraints in words; those that cannot be read say so. */
function requirementsOf(bundle: Parameters<typeof constraintsOf>[0]): string[] {
  const { constraints, faults } = constraintsOf(bundle, { compile: () => () => false });
  return [...constraints.map(describe), ...faults.map(({ type, reason }) => `${type} that cannot be read: ${reason}`)];
}
