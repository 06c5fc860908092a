import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION, LABEL_METADATA_NAME } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { renderCatalogBundle } from "../authoring/render/renderBundle.ts";
import { loadBundle } from "../bundle/load.ts";
import type { BundleFiles } from "../bundle/types.ts";
import { listSupportedInstallModes } from "../bundle/validate.ts";
import type { Property } from "../fbc/types.ts";
import { goQuote } from "../golang/quote.ts";
import { compareVersions, parseVersion } from "../version/version.ts";

/** A bundle of a trial: the bundle under test, or the one before it. */
export interface TrialBundle {
  /** As given by the user, for messages. */
  readonly source: string;
  readonly files: BundleFiles;
  readonly name: string;
  readonly packageName: string;
  readonly version: string;
  /** Names of its CustomResourceDefinitions. */
  readonly crds: readonly string[];
  /** Whether the operator can watch only its own namespace, and not all namespaces. */
  readonly isOwnNamespaceOnly: boolean;
}

/** Reads a bundle for a trial. @throws Error, with the source, if the bundle cannot be loaded or has no version */
export function readTrialBundle(source: string, files: BundleFiles): TrialBundle {
  const { csv, crds } = loadBundle(files);
  const { meta } = renderCatalogBundle(files, () => "");
  const own = (meta.blob["properties"] as Property[]).find(({ type }) => type === "olm.package");
  const { version = "" } = (own?.value ?? {}) as { version?: string };
  const modes = listSupportedInstallModes(csv);
  return {
    source,
    files,
    name: meta.name,
    packageName: meta.package,
    version,
    crds: crds.map(({ metadata }) => metadata.name),
    isOwnNamespaceOnly: !modes.has("AllNamespaces") && modes.has("OwnNamespace"),
  };
}

/**
 * Checks that the bundle under test is an upgrade of the one before it.
 * @throws Error that names both bundles
 */
export function requireUpgrade(target: TrialBundle, from: TrialBundle): void {
  const reject = (why: string): Error =>
    new Error(`${goQuote(target.source)} is not an upgrade of ${goQuote(from.source)}: ${why}. Use --from with the previous version`);
  if (target.packageName !== from.packageName)
    throw reject(`its package is ${goQuote(target.packageName)}, not ${goQuote(from.packageName)}`);
  if (target.name === from.name) throw reject(`both bundles have the name ${goQuote(target.name)}`);
  if (compareVersions(parseVersion(from.version), parseVersion(target.version)) >= 0)
    throw reject(`its version ${target.version} is not higher than ${from.version}`);
}

/** Name of the only channel of a trial's catalog. */
const CHANNEL = "trial";
/** Property with a manifest. Resolution does not need it, and it would make the catalog large. */
const MANIFEST_PROPERTY = "olm.bundle.object";

/** A bundle and its image. */
export interface PublishedBundle {
  readonly bundle: TrialBundle;
  /** Reference by digest. */
  readonly image: string;
}

/**
 * Returns the file-based catalog of a trial as JSON lines. Its only channel contains the bundles; each replaces the one before.
 * @param bundles the bundle under test, after the previous version if there is one; all of the same package
 */
export function buildTrialCatalog(bundles: readonly PublishedBundle[]): string {
  const packageName = bundles[0]?.bundle.packageName ?? "";
  const entries = bundles.map(({ bundle: { name } }, at) => {
    const before = bundles[at - 1];
    return before ? { name, replaces: before.bundle.name } : { name };
  });
  const metas: JsonObject[] = [
    { schema: "olm.package", name: packageName, defaultChannel: CHANNEL },
    { schema: "olm.channel", package: packageName, name: CHANNEL, entries },
    ...bundles.map(({ bundle, image }) => {
      const { blob } = renderCatalogBundle(bundle.files, () => image).meta;
      const properties = (blob["properties"] as Property[]).filter(({ type }) => type !== MANIFEST_PROPERTY);
      return { ...blob, properties };
    }),
  ];
  return metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
}

/** Lowest priority of a catalog, so that no other extension chooses a bundle of a trial while another catalog has its package. */
const LOWEST_PRIORITY = -(2 ** 31);

/** Returns the ClusterCatalog of a trial. @param image reference by digest */
export function buildTrialClusterCatalog(name: string, image: string): ClusterCatalog {
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_CATALOG,
    metadata: { name },
    spec: { source: { type: "Image", image: { ref: image } }, priority: LOWEST_PRIORITY },
  };
}

/** The extension of a trial. */
export interface TrialExtension {
  /** Also the name of its catalog. */
  readonly name: string;
  readonly namespace: string;
  /** Value of spec.config.inline; undefined for the default. */
  readonly config: JsonObject | undefined;
}

/**
 * Returns the ClusterExtension of a trial, without ServiceAccount: permission-manager grants its permissions. It chooses only from the catalog of the
 * trial, and its uninstall deletes its CustomResourceDefinitions with all custom resources.
 */
export function buildTrialExtension({ name, namespace, config }: TrialExtension, bundle: TrialBundle): ClusterExtension {
  const inline = config ?? (bundle.isOwnNamespaceOnly ? { watchNamespace: namespace } : undefined);
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name },
    spec: {
      namespace,
      source: {
        sourceType: "Catalog",
        catalog: {
          packageName: bundle.packageName,
          version: bundle.version,
          channels: [CHANNEL],
          selector: { matchLabels: { [LABEL_METADATA_NAME]: name } },
        },
      },
      uninstall: { crdPolicy: "Delete" },
      ...(inline === undefined ? {} : { config: { configType: "Inline", inline } }),
    },
  };
}
