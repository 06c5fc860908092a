import type { CatalogSource } from "../api/clusterExtension.ts";
import type { Problem } from "../api/problems.ts";
import type { FbcBundle, FbcDeprecations, PackageContent } from "../fbc/types.ts";
import type { VersionSupport } from "../fbc/versionSupport.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import type { VersionRelease } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import type { FilterResult, ResolutionQuery } from "./filters.ts";
import type { BundleMetadata, UpgradeEdge } from "./successors.ts";

/** A catalog and its content for the package. */
export interface CatalogPackage {
  name: string;
  priority: number;
  /** Undefined if the catalog does not contain the package, or is unavailable. */
  content: PackageContent | undefined;
  /** Why the catalog is unavailable; absent if it is available. */
  unavailable?: string;
  /** The catalog's own status while it is not served, such as `it reports Retrying: manifest unknown`. */
  reports?: string;
  /** The content of the package when the catalog was last available. Absent if unknown, and for an available catalog. */
  lastKnown?: { readonly content: PackageContent | undefined };
}

/** A catalog that may be selected by its labels. */
export interface LabeledCatalog extends CatalogPackage {
  readonly labels: Readonly<Record<string, string>>;
}

/** The input of `filterCandidates`: the package and its limits, the selected catalogs, the installed bundle, and the cluster version. */
export interface FilterRequest {
  readonly source: CatalogSource;
  /** The catalogs that `source.selector` selects, by name. */
  readonly catalogs: readonly CatalogPackage[];
  readonly installed?: BundleMetadata | undefined;
  /** Name of the catalog that the installed bundle came from; absent if that is not known. */
  readonly installedFrom?: string | undefined;
  /** Absent if the cluster is not an OpenShift cluster. */
  readonly cluster?: ClusterVersion | undefined;
  /** UTC day, YYYY-MM-DD, for support phases. If absent, supportPolicy does not apply. */
  readonly today?: string | undefined;
}

/** The input of `resolve`: like FilterRequest, but with all catalogs in any order, before selection. */
export interface ResolveRequest extends FilterRequest {
  readonly catalogs: readonly LabeledCatalog[];
}

/** The candidates in each selected catalog that passed the filters. */
export interface FilteredCatalogs {
  readonly kind: "candidates";
  readonly source: CatalogSource;
  readonly query: ResolutionQuery;
  readonly installed: BundleMetadata | undefined;
  /** Name of the catalog that the installed bundle came from; absent if that is not known. */
  readonly installedFrom?: string | undefined;
  /** The selected catalogs, by name. */
  readonly catalogs: readonly CatalogPackage[];
  /** Results of the available catalogs that contain the package, in the same order. */
  readonly results: readonly FilterResult[];
}

/** A catalog with at least one candidate that passed the filters, and the best of them. */
export type MatchingCatalog = FilterResult & { readonly best: Candidate };

/** The bundle to install or keep. */
export interface SuccessfulResolution {
  readonly kind: "resolved";
  readonly bundle: FbcBundle;
  readonly version: VersionRelease;
  /** Name of the catalog that contains the bundle. */
  readonly catalog: string;
  /** The catalog's deprecations for the package. */
  readonly deprecations: FbcDeprecations | undefined;
  /** Why this bundle was chosen, one sentence. */
  readonly explanation: string;
  /** Problems for the status: effects of clusterVersionPolicy and supportPolicy, and unavailable catalogs; often none. */
  readonly problems: readonly Problem[];
  /** Warnings about the choice, one sentence each; often none. */
  readonly warnings: readonly string[];
  /** The edge from the installed bundle. Absent if nothing is installed, or if SelfCertified allows the bundle without an edge. */
  readonly edge?: UpgradeEdge;
  /** Highest version of the package in the catalog of the bundle that is not deprecated, regardless of the limits of the request; undefined if none exists. */
  readonly newest: VersionRelease | undefined;
  /** Support of the bundle; absent if the catalog has no support phases of the package. */
  readonly support?: VersionSupport | undefined;
  /** The candidates that the bundle was chosen from. */
  readonly filtered: FilteredCatalogs;
}

/** Why there is no bundle to install, with the data of each reason. */
export type UnresolvedCause =
  | {
      /** A part of the input cannot be parsed; `error` is the reason. */
      readonly reason: "InvalidSelector" | "InvalidVersionRange" | "InvalidInstalledVersion";
      readonly error: string;
      readonly filtered?: undefined;
    }
  | ({ readonly filtered: FilteredCatalogs } & (
      | {
          /** A catalog that could change the choice is unavailable. */
          readonly reason: "CatalogUnavailable";
          readonly blocking: CatalogPackage;
        }
      | { readonly reason: "NoMatchingBundle" }
      | {
          /** Several catalogs of the same, highest priority have a matching bundle. */
          readonly reason: "AmbiguousCatalogs";
          readonly tied: readonly MatchingCatalog[];
        }
      | {
          /** The version of the best candidate cannot be parsed. */
          readonly reason: "InvalidBundleVersion";
          readonly catalog: string;
          readonly bundle: string;
          readonly error: string;
        }
    ));

/** A stable reason why there is no bundle to install. Use this in code, never a message. */
export type UnresolvedReason = UnresolvedCause["reason"];

/** A resolution without a bundle to install, and why. */
export type Unresolved = UnresolvedCause & {
  readonly kind: "unresolved";
  readonly source: CatalogSource;
  /** The text of the Go operator-controller, byte for byte. */
  readonly goMessage: string;
  /** The filter that no candidate passed, and the alternatives. */
  readonly explanation: string;
  /** `goMessage`, `; `, `explanation`. */
  readonly message: string;
};

/** The result of a ResolveRequest. */
export type Resolution = SuccessfulResolution | Unresolved;
