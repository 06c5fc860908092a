import { compareVersions, parseVersion, type Version } from "../version/version.ts";
import type { InstalledCsv } from "./clusterServiceVersion.ts";
import type { OperatorGroup } from "./operatorGroup.ts";
import type { Subscription } from "./subscription.ts";

/** A ClusterExtension of the cluster. */
export interface KnownExtension {
  readonly name: string;
  readonly packageName: string;
  /** "namespace/name" of the Subscription that it was converted from. */
  readonly migratedFrom?: string | undefined;
  /** The last completed step of its conversion. */
  readonly step?: string | undefined;
}

/** All that counts beside the Subscription itself. */
export interface Surroundings {
  /** The installed one; absent where there is none of that name in the Subscription's namespace. */
  readonly csv?: InstalledCsv | undefined;
  /** Of the Subscription's namespace. */
  readonly groups: readonly OperatorGroup[];
  /** All Subscriptions of the cluster. */
  readonly subscriptions: readonly Subscription[];
  /** All originals of the cluster, no copies. */
  readonly csvs: readonly InstalledCsv[];
  readonly extensions: readonly KnownExtension[];
  readonly offers: PackageOffers;
  /** Whether the operator reports something in its OperatorCondition. */
  readonly reportsConditions?: boolean;
  /** Name that the extension is to have. */
  readonly extensionName: string;
  /** Phase of the InstallPlan that the Subscription names, such as RequiresApproval; absent where there is none. */
  readonly planPhase?: string | undefined;
  /** Why no extension can have what the Subscription sets in Deployments; absent where one can. */
  readonly configFault?: string | undefined;
  /** Image of the Subscription's CatalogSource. */
  readonly sourceImage?: string | undefined;
}

/** A catalog that has the installed bundle. */
export interface BundleOffer {
  readonly catalog: string;
  readonly priority: number;
  readonly version: string;
  readonly image: string;
  /** Channels with the bundle. */
  readonly channels: readonly string[];
  /** What the catalog is read from, as its spec says. */
  readonly catalogImage?: string | undefined;
}

/** What a cluster's catalogs say about the package. */
export interface PackageOffers {
  /** Catalogs that have the package, whatever its versions are. */
  readonly catalogs: readonly string[];
  /** Those with the installed bundle. */
  readonly bundles: readonly BundleOffer[];
  /** Catalogs that could not be read, each with why. */
  readonly unread: readonly string[];
}

/** Offers whose version is what the ClusterServiceVersion says, build metadata aside; all of them where it says none that could be read. */
export function sameBundles({ bundles }: PackageOffers, { version }: Pick<InstalledCsv, "version">): readonly BundleOffer[] {
  const installed = versionIn(version);
  return bundles.filter((offer) => {
    const offered = versionIn(offer.version);
    return !installed || !offered || compareVersions(offered, installed) === 0;
  });
}

function versionIn(text: string): Version | undefined {
  try {
    return parseVersion(text);
  } catch {
    return undefined;
  }
}
