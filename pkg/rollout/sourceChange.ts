import type { CatalogSource, ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import { goQuote } from "../golang/quote.ts";
import { quoteShellWord } from "../text/shell.ts";

/** A change of what an extension may be upgraded to. An absent member stays; an empty text or list removes the limit. */
export interface SourceChange {
  readonly version?: string | undefined;
  readonly channels?: readonly string[] | undefined;
  readonly upgradeConstraintPolicy?: CatalogSource["upgradeConstraintPolicy"];
}

/** Returns the extension with the changed source. @throws Error if it does not install a package of a catalog */
export function changeCatalogSource(
  extension: ClusterExtension,
  { version, channels, upgradeConstraintPolicy }: SourceChange,
): ClusterExtension {
  const { spec, metadata } = extension;
  const before = spec.source.catalog;
  if (!before) throw new Error(`ClusterExtension ${goQuote(metadata.name)} has no spec.source.catalog`);
  const catalog: CatalogSource = { ...before };
  if (version === "") delete catalog.version;
  else if (version !== undefined) catalog.version = version;
  if (channels?.length === 0) delete catalog.channels;
  else if (channels) catalog.channels = [...channels];
  if (upgradeConstraintPolicy !== undefined && upgradeConstraintPolicy !== (before.upgradeConstraintPolicy ?? "CatalogProvided"))
    catalog.upgradeConstraintPolicy = upgradeConstraintPolicy;
  return { ...extension, spec: { ...spec, source: { ...spec.source, catalog } } };
}

/** The members of `spec.source.catalog` that a change of the source can change. */
const MEMBERS = ["version", "channels", "upgradeConstraintPolicy"] as const;

/** A merge patch of `spec.source.catalog`: null removes a member. */
type SourcePatch = { readonly [M in (typeof MEMBERS)[number]]?: NonNullable<CatalogSource[M]> | null };

/** Returns the merge patch from one source to another. Empty if nothing changes. */
export function buildSourcePatch(before: ClusterExtension, after: ClusterExtension): SourcePatch {
  const [old, updated] = [before.spec.source.catalog, after.spec.source.catalog];
  const changed = MEMBERS.filter((member) => JSON.stringify(old?.[member]) !== JSON.stringify(updated?.[member]));
  return Object.fromEntries(changed.map((member) => [member, updated?.[member] ?? null]));
}

/** Formats the command that makes a change: `olmv1 upgrade` if it can, else `kubectl patch`. */
export function formatSourceCommand(name: string, patch: SourcePatch): string {
  const { version, channels, upgradeConstraintPolicy } = patch;
  if (upgradeConstraintPolicy !== undefined || channels === null) {
    const body = JSON.stringify({ spec: { source: { catalog: patch } } });
    return `kubectl patch clusterextension ${quoteShellWord(name)} --type merge --patch ${quoteShellWord(body)}`;
  }
  const range = version === undefined ? [] : version === null ? ["--any-version"] : ["--version", quoteShellWord(version)];
  const listed = (channels ?? []).flatMap((channel) => ["--channel", quoteShellWord(channel)]);
  return ["olmv1 upgrade", quoteShellWord(name), ...range, ...listed].join(" ");
}

/** Returns the manifest of an extension without server-side fields, for Git. */
export function toManifest({ metadata, spec }: ClusterExtension): ClusterExtension {
  const { name, labels, annotations = {} } = metadata;
  const { "kubectl.kubernetes.io/last-applied-configuration": _, ...kept } = annotations;
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name, ...(labels ? { labels } : {}), ...(Object.keys(kept).length > 0 ? { annotations: kept } : {}) },
    spec,
  };
}
