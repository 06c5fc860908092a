import type { CatalogSource, ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_ROLLBACK_TO } from "../../../pkg/api/constants.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";

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
