import type { InstalledCsv } from "../installedCsv.ts";
import type { OperatorGroup } from "../operatorGroup.ts";
import type { Subscription } from "../subscription.ts";
import type { PackageOffers } from "./offer.ts";

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
