import type { CatalogSource } from "../api/clusterExtension.ts";
import type { FbcBundle, FbcDeprecations, PackageContent } from "../fbc/types.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import type { VersionRelease } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import { type Findings, findIn, type Query } from "./filters.ts";
import { compileSelector, type LabelSelector } from "./labelSelector.ts";
import type { Edge, InstalledBundle } from "./successors.ts";

/** One catalog that is to be asked, with what it says about the package. */
export interface CatalogContent {
  name: string;
  priority: number;
  labels: Record<string, string>;
  /** Undefined where the catalog does not have the package, or cannot answer. */
  content: PackageContent | undefined;
  /** Why the catalog cannot answer; absent for one that can. */
  unavailable?: string;
  /** What the catalog reports about itself while it is not served, such as `it reports Retrying: manifest unknown`. */
  reports?: string;
  /** What the catalog said about the package when it last answered; absent while that is not known, and for one that can answer. */
  lastKnown?: { readonly content: PackageContent | undefined };
}

/** Those of `catalogs` that are selected, by name. */
export function selectedCatalogs(selector: LabelSelector | undefined, catalogs: readonly CatalogContent[]): CatalogContent[] {
  const { matches } = compileSelector(selector);
  return catalogs.filter(({ labels }) => matches(labels)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Whether a catalog says anything about the package. */
export function hasContent(content: PackageContent | undefined): content is PackageContent {
  if (!content) return false;
  const { channels, bundles, deprecations, others } = content;
  return content.package !== undefined || channels.length + bundles.length + deprecations.length + others > 0;
}

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

/** The best of what one catalog has left. */
export type Offer = Findings & { readonly best: Candidate };

/** What catalogs offer, highest priority first and else in the order given; deprecated bundles only where there are no others. */
export function offersOf(findings: readonly Findings[]): Offer[] {
  const offers = findings.flatMap((found) => (found.best ? [{ ...found, best: found.best }] : []));
  const sound = offers.filter(({ best }) => !best.deprecated);
  return (sound.length > 0 ? sound : offers).sort((a, b) => b.priority - a.priority);
}

/** Returns the first selected catalog, by name, that cannot answer and whose answer could change the choice. */
export function blockingCatalog(considered: Considered): CatalogContent | undefined {
  const [first] = offersOf(considered.findings);
  return considered.selected.find((one) => one.unavailable !== undefined && couldChange(one, first, considered));
}

/**
 * Reports whether the answer of a catalog that cannot answer could change the choice. The first row that matches decides:
 *
 * | when it last answered, no bundle of it passed the filters                           | no  |
 * | it never answered, and the best offer comes from the catalog of the installed bundle | no  |
 * | nothing else is offered, or only what is deprecated                                 | yes |
 * | its priority is not lower than that of the best offer                               | yes |
 *
 * The second row keeps updates coming from the catalog that the installed bundle came from while another catalog is new or broken. A catalog that
 * the installed bundle did not come from never replaces one that is out of reach: that could install content from a source that nobody chose.
 */
function couldChange(catalog: CatalogContent, first: Offer | undefined, { query, installedFrom }: Considered): boolean {
  const { lastKnown, priority } = catalog;
  if (lastKnown && !(hasContent(lastKnown.content) && findIn(catalog, lastKnown.content, query).best)) return false;
  if (!lastKnown && first && first.catalog === installedFrom) return false;
  return !first || first.best.deprecated || priority >= first.priority;
}
