import type { FbcChannel, FbcDeprecations, PackageContent } from "../fbc/types.ts";
import type { Constraint } from "../version/masterminds.ts";
import { compareVersionRelease, type VersionRelease } from "../version/version.ts";
import { bestOf, type Candidate, candidatesFrom, entryNames } from "./candidates.ts";
import { deprecatedBundles } from "./deprecation.ts";
import { type Edge, type InstalledBundle, successorEdges } from "./successors.ts";

/** What is asked of every catalog. */
export interface Query {
  readonly packageName: string;
  /** None: bundles need not be in any channel. */
  readonly channels: readonly string[];
  /** As written, with what it means; absent: any version. */
  readonly range?: { readonly text: string; readonly constraint: Constraint };
  readonly installed?: InstalledBundle & { readonly parsed: VersionRelease };
  /** False under SelfCertified: any version may follow the installed one. */
  readonly edgesDecide: boolean;
}

/** What one catalog has for a query: after each filter the candidates that are left, in the catalog's order. */
export interface Findings {
  readonly catalog: string;
  readonly priority: number;
  readonly content: PackageContent;
  readonly deprecations: FbcDeprecations | undefined;
  /** The channels that count: those asked for, or all. */
  readonly channels: readonly FbcChannel[];
  /** Direct successors of the installed bundle; empty when nothing is installed. */
  readonly edges: ReadonlyMap<string, Edge>;
  readonly all: readonly Candidate[];
  readonly inChannels: readonly Candidate[];
  readonly inRange: readonly Candidate[];
  readonly eligible: readonly Candidate[];
  readonly best: Candidate | undefined;
}

/**
 * Filters one catalog's package: channels, then version range, then upgrade edges.
 * A bundle without a readable version is in no range. The installed version is always a legal target of an upgrade.
 */
export function findIn(catalog: { name: string; priority: number }, content: PackageContent, query: Query): Findings {
  const deprecations = content.deprecations[0];
  const all = candidatesFrom(content.bundles, deprecatedBundles(deprecations));
  const channels = query.channels.length === 0 ? content.channels : content.channels.filter(({ name }) => query.channels.includes(name));
  const names = entryNames(channels);
  const inChannels = query.channels.length === 0 ? all : all.filter(({ bundle }) => names.has(bundle.name));
  const inRange = inChannels.filter((candidate) => isInRange(candidate, query));
  const edges = query.installed ? successorEdges(channels, query.installed) : new Map<string, Edge>();
  const eligible = inRange.filter((candidate) => !query.installed || !query.edgesDecide || edgeTo(candidate, query, edges) !== undefined);
  return {
    catalog: catalog.name,
    priority: catalog.priority,
    content,
    deprecations,
    channels,
    edges,
    all,
    inChannels,
    inRange,
    eligible,
    best: bestOf(eligible),
  };
}

/** Whether the query's range, if it has one, contains the candidate. */
export function isInRange({ version }: Candidate, { range }: Query): boolean {
  return range === undefined || (version !== undefined && range.constraint.contains(version.version));
}

/** How the candidate may follow what is installed: as that bundle itself, by an edge, or as another bundle of the same version. */
export function edgeTo({ bundle, version }: Candidate, { installed }: Query, edges: ReadonlyMap<string, Edge>): Edge | undefined {
  if (!installed) return undefined;
  const sameVersion = version !== undefined && compareVersionRelease(version, installed.parsed) === 0;
  if (sameVersion && bundle.name === installed.name) return { channel: "", via: "stay" };
  return edges.get(bundle.name) ?? (sameVersion ? { channel: "", via: "stay" } : undefined);
}
