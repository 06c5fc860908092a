import type { CatalogSource } from "../api/clusterExtension.ts";
import type { FbcBundle, FbcDeprecations } from "../fbc/types.ts";
import type { ClusterVersion } from "../gate/clusterVersion.ts";
import type { VersionRelease } from "../version/version.ts";
import type { CatalogContent } from "./catalogContent.ts";
import type { Findings, Query } from "./filters.ts";
import type { Edge, InstalledBundle } from "./successors.ts";

/**
 * What is asked: the package and its limits, the catalogs (in any order; disabled ones left out), what is installed, and the version of the
 * cluster (without it as on no OpenShift cluster).
 */
export interface ResolveRequest {
  source: CatalogSource;
  catalogs: readonly CatalogContent[];
  installed?: InstalledBundle | undefined;
  /** Name of the catalog that the installed bundle came from; absent where that is not known. */
  installedFrom?: string | undefined;
  cluster?: ClusterVersion | undefined;
}

/** The bundle to install or keep. */
export interface Resolved {
  kind: "resolved";
  bundle: FbcBundle;
  version: VersionRelease;
  /** Name of the catalog it comes from. */
  catalog: string;
  /** What that catalog says about deprecation in the package. */
  deprecations: FbcDeprecations | undefined;
  /** Why this bundle, one sentence. */
  explanation: string;
  /** What clusterVersionPolicy comes to and which selected catalogs could not be asked, one sentence each, for people who look at the extension; often none. */
  notes: string[];
  /** What is disregarded in moving to it, one sentence each; often none. */
  cautions: string[];
  /** How it follows the installed bundle; absent when nothing is installed, or when SelfCertified goes where no edge leads. */
  edge?: Edge;
  /** Highest version of the package in that catalog that is not deprecated; undefined where there is none. Limits of the request do not count. */
  newest: VersionRelease | undefined;
  /** What it was chosen from. */
  considered: Considered;
}

/** Why there is no bundle to install. */
export interface Unresolved {
  kind: "unresolved";
  /** `selector`, `version` and `installed`: that input cannot be read; `catalog`: one that could change the answer cannot be asked. */
  cause: "selector" | "version" | "installed" | "catalog" | "nothing" | "ambiguous" | "bundle";
  /** The Go operator-controller's text. */
  reason: string;
  /** Which filter left nothing, and what would have been near. */
  explanation: string;
  /** `reason`, `; `, `explanation`. */
  message: string;
  retry: true;
  /** What there was to choose from; absent where the selector or the version range cannot be read. */
  considered?: Considered;
}

/** The selected catalogs and what the filters left of each, before one is chosen. */
export interface Considered {
  readonly query: Query;
  readonly installed: InstalledBundle | undefined;
  /** Name of the catalog that the installed bundle came from; absent where that is not known. */
  readonly installedFrom?: string | undefined;
  /** By name. */
  readonly selected: readonly CatalogContent[];
  /** Of those that answer and have the package, in the same order. */
  readonly findings: readonly Findings[];
}

/** The answer to a ResolveRequest. */
export type Resolution = Resolved | Unresolved;

/** The same before it is said what it was chosen from. */
export type Answer = Omit<Resolved, "considered"> | Omit<Unresolved, "considered">;
