import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../api/constants.ts";
import { isDigestReference } from "../api/imageReference.ts";
import type { KubeObject } from "../api/k8s.ts";
import { ANNOTATION_MIGRATED_FROM_SOURCE } from "../api/migration.ts";
import { getNonEmptyText, getObjectAt, getTextsAt } from "../golang/members.ts";
import { BUILD_COMMANDS } from "./bundleImages.ts";

/** A CatalogSource, the OLM v0 kind for catalogs. */
export interface OlmV0CatalogSource {
  readonly namespace: string;
  readonly name: string;
  /** grpc, internal or configmap; the default is grpc. */
  readonly type: string;
  readonly image?: string | undefined;
  readonly address?: string | undefined;
  readonly configMap?: string | undefined;
  /** Unparsed poll interval of the image, such as 10m0s. */
  readonly pollInterval?: string | undefined;
  readonly priority: number;
  readonly displayName?: string | undefined;
  readonly publisher?: string | undefined;
  /** Names of pull secrets in its namespace. */
  readonly secrets: readonly string[];
  /** Template from which OLM v0 derives the image for the Kubernetes version. */
  readonly template?: string | undefined;
}

/** The reason why a CatalogSource cannot be converted to a ClusterCatalog. */
export interface SourceFault {
  readonly code: "NoImage" | "FromConfigMap" | "Unreadable";
  readonly text: string;
  readonly next: string;
}

const IMAGE_TEMPLATE = "olm.catalogImageTemplate";
const MINUTE_MS = 60_000;
const FBC = "build an image with the content as a file-based catalog (olmv1 catalog migrate, olmv1 catalog build, olmv1 catalog push)";

/** Parses a CatalogSource. Never throws: treats invalid fields as missing. */
export function parseCatalogSource(object: KubeObject): OlmV0CatalogSource {
  const { name, namespace = "", annotations } = object.metadata;
  const spec = getObjectAt(object, "spec");
  const { priority } = spec;
  return {
    namespace,
    name,
    type: getNonEmptyText(spec, "sourceType") ?? "grpc",
    image: getNonEmptyText(spec, "image"),
    address: getNonEmptyText(spec, "address"),
    configMap: getNonEmptyText(spec, "configMap"),
    pollInterval: getNonEmptyText(getObjectAt(getObjectAt(spec, "updateStrategy"), "registryPoll"), "interval"),
    priority: typeof priority === "number" && Number.isInteger(priority) ? priority : 0,
    displayName: getNonEmptyText(spec, "displayName"),
    publisher: getNonEmptyText(spec, "publisher"),
    secrets: getTextsAt(spec, "secrets"),
    template: annotations?.[IMAGE_TEMPLATE],
  };
}

/** Returns the reason why a CatalogSource cannot be converted to a ClusterCatalog, which requires an image; undefined if it can be converted. */
export function findSourceFault({ type, image, address, configMap }: OlmV0CatalogSource): SourceFault | undefined {
  if (type === "internal" || type === "configmap")
    return {
      code: "FromConfigMap",
      text: `the content is in ConfigMap "${configMap ?? "?"}" (sourceType ${type}), not in an image`,
      next: `${FBC}, and add the image with olmv1 catalog add`,
    };
  if (type !== "grpc")
    return { code: "Unreadable", text: `unknown sourceType "${type}"`, next: "correct spec.sourceType, or delete the CatalogSource" };
  if (image !== undefined) return undefined;
  return address === undefined
    ? { code: "Unreadable", text: "no image or address is set", next: "set spec.image, or delete the CatalogSource" }
    : {
        code: "NoImage",
        text: `no image is set, only the address ${address} of a server`,
        next: `find the catalog image that this server serves and add it with olmv1 catalog add; if it does not exist, create a catalog of the installed bundles: mkdir installed, olmv1 catalog add-bundle as in the notes, ${BUILD_COMMANDS}`,
      };
}

/**
 * Converts a CatalogSource to a ClusterCatalog. Also returns a note, one sentence, for each setting that a ClusterCatalog does not support.
 * @param image the catalog image; see `findSourceFault`
 * @param intervalMs the poll interval; undefined if it is invalid or not set
 */
export function toClusterCatalog(
  source: OlmV0CatalogSource,
  { name, image, intervalMs }: { name: string; image: string; intervalMs: number | undefined },
): { catalog: ClusterCatalog; notes: string[] } {
  const { priority, pollInterval, displayName, publisher, secrets, namespace, template } = source;
  const isFixed = isDigestReference(image);
  const minutes = isFixed || intervalMs === undefined ? undefined : Math.max(1, Math.ceil(intervalMs / MINUTE_MS));
  const people = [
    ...(displayName === undefined ? [] : [`display name "${displayName}"`]),
    ...(publisher === undefined ? [] : [`publisher "${publisher}"`]),
  ];
  const notes = [
    ...(pollInterval !== undefined && minutes === undefined
      ? [
          isFixed
            ? `the image is referenced by digest, which cannot change: the poll interval ${pollInterval} is dropped`
            : `invalid poll interval "${pollInterval}": the ClusterCatalog does not poll its image`,
        ]
      : []),
    ...(minutes !== undefined && intervalMs !== minutes * MINUTE_MS
      ? [`the poll interval is rounded up to ${minutes} min, because a ClusterCatalog accepts only whole minutes`]
      : []),
    ...(secrets.length > 0
      ? [
          `pull secrets are not migrated: ${secrets.map((secret) => `${namespace}/${secret}`).join(", ")}. Add the credentials to the Secret of the catalogd flag --global-pull-secret`,
        ]
      : []),
    ...(template === undefined
      ? []
      : [`OLM v0 selects the image by Kubernetes version (${template}), but the ClusterCatalog keeps ${image} until you change it`]),
    ...(people.length > 0 ? [`a ClusterCatalog has no field for the ${people.join(" and ")}`] : []),
  ];
  const catalog: ClusterCatalog = {
    apiVersion: API_VERSION,
    kind: CLUSTER_CATALOG,
    metadata: { name, annotations: { [ANNOTATION_MIGRATED_FROM_SOURCE]: `${namespace}/${source.name}` } },
    spec: {
      source: { type: "Image", image: { ref: image, ...(minutes === undefined ? {} : { pollIntervalMinutes: minutes }) } },
      ...(priority === 0 ? {} : { priority }),
    },
  };
  return { catalog, notes };
}
