import { isDeepStrictEqual } from "node:util";
import type { CatalogSource, ClusterExtension, ClusterExtensionSpec } from "../api/clusterExtension.ts";
import { ANNOTATION_ROLLBACK_TO, API_VERSION, CLUSTER_EXTENSION, LABEL_METADATA_NAME } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";

/** Command-line options for an extension. Omitted options keep the value of the existing extension. */
export interface ExtensionOptions {
  readonly version?: string;
  readonly channel: string[];
  readonly catalog: string[];
  readonly watchNamespace: string[];
  readonly approval?: NonNullable<ClusterExtensionSpec["approval"]>;
  readonly upgradeConstraintPolicy?: NonNullable<CatalogSource["upgradeConstraintPolicy"]>;
  readonly packageName: string;
  /** Undefined if the namespace is not known yet. */
  readonly namespace: string | undefined;
  /** Null for no ServiceAccount. */
  readonly serviceAccount: string | null | undefined;
  /** The content of --config. */
  readonly config: JsonObject | undefined;
}

/** Returns the desired extension. */
export function buildDesiredExtension(name: string, given: ExtensionOptions, existing?: ClusterExtensionSpec): ClusterExtension {
  const { namespace = "", approval } = given;
  const { serviceAccount: before, ...others } = existing ?? {};
  const serviceAccount = given.serviceAccount === undefined ? before?.name : given.serviceAccount;
  const inline = configFrom(given, existing?.config?.inline);
  const config = inline === undefined ? existing?.config : { configType: "Inline" as const, ...existing?.config, inline };
  const spec: ClusterExtensionSpec = {
    ...others,
    namespace,
    ...(serviceAccount === undefined || serviceAccount === null ? {} : { serviceAccount: { name: serviceAccount } }),
    source: { sourceType: "Catalog", catalog: sourceFrom(given, existing?.source.catalog) },
    ...(config === undefined ? {} : { config }),
    ...(approval === undefined ? {} : { approval }),
  };
  return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name }, spec };
}

function sourceFrom(
  { packageName, version, channel, catalog, upgradeConstraintPolicy }: ExtensionOptions,
  existing?: CatalogSource,
): CatalogSource {
  return {
    ...existing,
    packageName,
    ...(version === undefined ? {} : { version }),
    ...(channel.length > 0 ? { channels: channel } : {}),
    ...(catalog.length > 0 ? { selector: buildSelector(catalog) } : {}),
    ...(upgradeConstraintPolicy === undefined ? {} : { upgradeConstraintPolicy }),
  };
}

/** Returns a selector for catalogs with these names, by their name label. */
function buildSelector(catalogs: readonly string[]): NonNullable<CatalogSource["selector"]> {
  const [only = ""] = catalogs;
  if (catalogs.length === 1) return { matchLabels: { [LABEL_METADATA_NAME]: only } };
  return { matchExpressions: [{ key: LABEL_METADATA_NAME, operator: "In", values: [...catalogs] }] };
}

function configFrom({ config, watchNamespace }: ExtensionOptions, existing: JsonObject | undefined): JsonObject | undefined {
  if (config === undefined && watchNamespace.length === 0) return existing;
  const watched = watchNamespace.length > 1 ? { watchNamespaces: watchNamespace } : { watchNamespace: watchNamespace[0] };
  return { ...(config ?? existing), ...(watchNamespace.length > 0 ? watched : {}) };
}

/** Returns the sorted paths of changed fields in the spec of an existing extension, such as `source.catalog.version`. */
export function findChangedPaths(before: unknown, after: unknown, path = ""): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [path];
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const [old, updated] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return members.flatMap((member) => findChangedPaths(old.get(member), updated.get(member), path === "" ? member : `${path}.${member}`));
}

/** The changes that `olmv1 upgrade` can make to an extension. */
export interface UpgradeChange {
  /** A new version range. */
  readonly version?: string;
  /** Removes the version range. */
  readonly anyVersion?: boolean;
  readonly channel: readonly string[];
}

/** Returns the desired extension, without server-side fields. @throws Error that explains what to do if the change would have no effect */
export function buildUpgradedExtension(
  extension: ClusterExtension,
  { version, anyVersion = false, channel }: UpgradeChange,
): ClusterExtension {
  const { apiVersion, kind, metadata, spec } = extension;
  const { name } = metadata;
  if (metadata.deletionTimestamp !== undefined) throw new Error(`ClusterExtension ${goQuote(name)} is being deleted`);
  if (spec.suspend) throw new Error(`spec.suspend of ClusterExtension ${goQuote(name)} is true: set it to false first`);
  const pinned = metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
  if (pinned !== undefined)
    throw new Error(
      `ClusterExtension ${goQuote(name)} is pinned to revision ${pinned}: to follow the catalogs again, run olmv1 rollback ${name} --cancel`,
    );
  const { catalog } = spec.source;
  if (!catalog) throw new Error(`ClusterExtension ${goQuote(name)} has no spec.source.catalog`);
  const { version: before, ...unpinned } = catalog;
  const range = anyVersion ? undefined : (version ?? before);
  const changed: CatalogSource = {
    ...unpinned,
    ...(range === undefined ? {} : { version: range }),
    ...(channel.length > 0 ? { channels: [...channel] } : {}),
  };
  return { apiVersion, kind, metadata: { name }, spec: { ...spec, source: { ...spec.source, catalog: changed } } };
}
