import { isDeepStrictEqual } from "node:util";
import type { CatalogSource, ClusterExtension, ClusterExtensionSpec } from "../api/clusterExtension.ts";
import { ANNOTATION_ROLLBACK_TO, API_VERSION, CLUSTER_EXTENSION, LABEL_METADATA_NAME } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";

/** What the command line says of an extension; what it leaves out is as the existing one has it. */
export interface Said {
  readonly version?: string;
  readonly channel: string[];
  readonly catalog: string[];
  readonly watchNamespace: string[];
  readonly approval?: NonNullable<ClusterExtensionSpec["approval"]>;
  readonly upgradeConstraintPolicy?: NonNullable<CatalogSource["upgradeConstraintPolicy"]>;
  readonly packageName: string;
  /** Undefined while that is still to be found out. */
  readonly namespace: string | undefined;
  /** Null: none. */
  readonly serviceAccount: string | null | undefined;
  /** The content of --config. */
  readonly config: JsonObject | undefined;
}

/** The extension as it is to be. */
export function extensionWanted(name: string, said: Said, existing?: ClusterExtensionSpec): ClusterExtension {
  const { namespace = "", approval } = said;
  const { serviceAccount: before, ...others } = existing ?? {};
  const serviceAccount = said.serviceAccount === undefined ? before?.name : said.serviceAccount;
  const inline = configFrom(said, existing?.config?.inline);
  const config = inline === undefined ? existing?.config : { configType: "Inline" as const, ...existing?.config, inline };
  const spec: ClusterExtensionSpec = {
    ...others,
    namespace,
    ...(serviceAccount === undefined || serviceAccount === null ? {} : { serviceAccount: { name: serviceAccount } }),
    source: { sourceType: "Catalog", catalog: sourceFrom(said, existing?.source.catalog) },
    ...(config === undefined ? {} : { config }),
    ...(approval === undefined ? {} : { approval }),
  };
  return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name }, spec };
}

function sourceFrom({ packageName, version, channel, catalog, upgradeConstraintPolicy }: Said, existing?: CatalogSource): CatalogSource {
  return {
    ...existing,
    packageName,
    ...(version === undefined ? {} : { version }),
    ...(channel.length > 0 ? { channels: channel } : {}),
    ...(catalog.length > 0 ? { selector: selectorOf(catalog) } : {}),
    ...(upgradeConstraintPolicy === undefined ? {} : { upgradeConstraintPolicy }),
  };
}

/** Selects catalogs by the label that each has with its own name. */
function selectorOf(catalogs: readonly string[]): NonNullable<CatalogSource["selector"]> {
  const [only = ""] = catalogs;
  if (catalogs.length === 1) return { matchLabels: { [LABEL_METADATA_NAME]: only } };
  return { matchExpressions: [{ key: LABEL_METADATA_NAME, operator: "In", values: [...catalogs] }] };
}

function configFrom({ config, watchNamespace }: Said, existing: JsonObject | undefined): JsonObject | undefined {
  if (config === undefined && watchNamespace.length === 0) return existing;
  const watched = watchNamespace.length > 1 ? { watchNamespaces: watchNamespace } : { watchNamespace: watchNamespace[0] };
  return { ...(config ?? existing), ...(watchNamespace.length > 0 ? watched : {}) };
}

/** Paths of what would be different about an existing extension, such as `source.catalog.version`; sorted. */
export function changedPaths(before: unknown, after: unknown, path = ""): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [path];
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const [old, wanted] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return members.flatMap((member) => changedPaths(old.get(member), wanted.get(member), path === "" ? member : `${path}.${member}`));
}

/** What `olmv1 upgrade` may change of an extension. */
export interface UpgradeChange {
  /** A new range of versions. */
  readonly version?: string;
  /** No range any more. */
  readonly anyVersion?: boolean;
  readonly channel: readonly string[];
}

/**
 * An extension as it is to be, without what the API server keeps of it.
 * @throws Error where nothing would come of it, saying what has to be done first.
 */
export function upgradeWanted(extension: ClusterExtension, { version, anyVersion = false, channel }: UpgradeChange): ClusterExtension {
  const { apiVersion, kind, metadata, spec } = extension;
  const { name } = metadata;
  if (metadata.deletionTimestamp !== undefined) throw new Error(`ClusterExtension ${goQuote(name)} is being deleted`);
  if (spec.suspend) throw new Error(`spec.suspend of ClusterExtension ${goQuote(name)} is true: nothing is done before it is false`);
  const pinned = metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
  if (pinned !== undefined)
    throw new Error(
      `ClusterExtension ${goQuote(name)} is kept at revision ${pinned}: olmv1 rollback ${name} --cancel lets it follow the catalogs again`,
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
