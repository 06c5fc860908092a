import { compareVersions, tryParseVersion } from "../version/version.ts";
import type { InstalledCsv } from "./clusterServiceVersion.ts";
import type { OperatorGroup } from "./operatorGroup.ts";
import type { Subscription } from "./subscription.ts";

/** The parts of a ClusterExtension that the checks use. */
export interface KnownExtension {
  readonly name: string;
  readonly packageName: string;
  /** "namespace/name" of the Subscription from which the extension was converted. */
  readonly migratedFrom?: string | undefined;
  /** The last completed step of the conversion. */
  readonly step?: string | undefined;
  /** Whether another tool converted the Subscription. */
  readonly isForeign?: boolean;
}

/** The state of the cluster that determines whether a Subscription can be converted. */
export interface EligibilityInput {
  /** The installed ClusterServiceVersion; undefined if it does not exist in the Subscription's namespace. */
  readonly csv?: InstalledCsv | undefined;
  /** The OperatorGroups in the Subscription's namespace. */
  readonly groups: readonly OperatorGroup[];
  /** All Subscriptions of the cluster. */
  readonly subscriptions: readonly Subscription[];
  /** All ClusterServiceVersions of the cluster, without copies. */
  readonly csvs: readonly InstalledCsv[];
  readonly extensions: readonly KnownExtension[];
  /** "namespace/name" of the Subscriptions that another tool has begun to convert: it has created ClusterObjectSets. */
  readonly begunElsewhere?: ReadonlySet<string>;
  /** "namespace/name" of the ClusterServiceVersions that are converted together; their dependencies on each other are kept. */
  readonly together?: ReadonlySet<string>;
  readonly offers: PackageOffers;
  /** Whether the operator reports conditions in its OperatorCondition. */
  readonly reportsConditions?: boolean;
  /** Name of the extension to create. */
  readonly extensionName: string;
  /** Phase of the Subscription's InstallPlan, such as RequiresApproval; absent if there is none. */
  readonly planPhase?: string | undefined;
  /** The reason why the Subscription's spec.config cannot be converted; absent if it can. */
  readonly configFault?: string | undefined;
  /** Image of the Subscription's CatalogSource. */
  readonly sourceImage?: string | undefined;
  /** Whether the Subscription's CatalogSource does not exist. */
  readonly isSourceMissing?: boolean;
  /** Image of the installed bundle, if OLM v0 recorded it; absent if catalogs contain the bundle. */
  readonly bundleImage?: string | undefined;
}

/** The installed bundle, as contained in a catalog. */
export interface BundleOffer {
  readonly catalog: string;
  readonly priority: number;
  readonly version: string;
  readonly image: string;
  /** Channels that contain the bundle. */
  readonly channels: readonly string[];
  /** The image of the catalog, from its spec. */
  readonly catalogImage?: string | undefined;
}

/** What the catalogs of the cluster contain for a package. */
export interface PackageOffers {
  /** Catalogs that contain the package, in any version. */
  readonly catalogs: readonly string[];
  /** The installed bundle in each catalog that contains it. */
  readonly bundles: readonly BundleOffer[];
  /** Catalogs that could not be read, each with the reason. */
  readonly unread: readonly string[];
}

/**
 * Returns the bundles with the version of the ClusterServiceVersion, ignoring build metadata. Bundles match if their version, or that of the
 * ClusterServiceVersion, is invalid.
 */
export function findSameBundles({ bundles }: PackageOffers, { version }: Pick<InstalledCsv, "version">): readonly BundleOffer[] {
  const installed = tryParseVersion(version);
  return bundles.filter((offer) => {
    const offered = tryParseVersion(offer.version);
    return !installed || !offered || compareVersions(offered, installed) === 0;
  });
}

/** A finding of a check, with a suggested action. */
export interface EligibilityFinding {
  /** One sentence without a full stop. */
  readonly text: string;
  /** Suggested action. */
  readonly next: string;
}

/** Returns a finding; undefined if the check passes. */
export type EligibilityCheck = (subscription: Subscription, around: EligibilityInput) => EligibilityFinding | undefined;
