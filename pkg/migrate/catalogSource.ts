import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../api/constants.ts";
import { isDigestReference } from "../api/imageReference.ts";
import type { KubeObject } from "../api/k8s.ts";
import { nonEmptyText, objectAt, textsAt } from "../golang/members.ts";

/** Where OLM classic has a catalog from. */
export interface OlmV0CatalogSource {
  readonly namespace: string;
  readonly name: string;
  /** grpc, internal or configmap; grpc where it says nothing. */
  readonly type: string;
  readonly image?: string | undefined;
  readonly address?: string | undefined;
  readonly configMap?: string | undefined;
  /** How often the image is looked up again, as it is written, such as 10m0s. */
  readonly pollInterval?: string | undefined;
  readonly priority: number;
  readonly displayName?: string | undefined;
  readonly publisher?: string | undefined;
  /** Names of pull secrets in its namespace. */
  readonly secrets: readonly string[];
  /** From which OLM classic makes the image by the version of Kubernetes. */
  readonly template?: string | undefined;
}

/** Why a CatalogSource can become no ClusterCatalog. */
export interface SourceFault {
  readonly code: "NoImage" | "FromConfigMap" | "Unreadable";
  readonly text: string;
  readonly next: string;
}

const IMAGE_TEMPLATE = "olm.catalogImageTemplate";
const MINUTE_MS = 60_000;
const FBC = "build an image with its content as a file-based catalog (olmv1 catalog migrate, olmv1 catalog build, olmv1 catalog push)";

/** Reads a CatalogSource. Never throws: what cannot be read is not there. */
export function catalogSourceFrom(object: KubeObject): OlmV0CatalogSource {
  const { name, namespace = "", annotations } = object.metadata;
  const spec = objectAt(object, "spec");
  const { priority } = spec;
  return {
    namespace,
    name,
    type: nonEmptyText(spec, "sourceType") ?? "grpc",
    image: nonEmptyText(spec, "image"),
    address: nonEmptyText(spec, "address"),
    configMap: nonEmptyText(spec, "configMap"),
    pollInterval: nonEmptyText(objectAt(objectAt(spec, "updateStrategy"), "registryPoll"), "interval"),
    priority: typeof priority === "number" && Number.isInteger(priority) ? priority : 0,
    displayName: nonEmptyText(spec, "displayName"),
    publisher: nonEmptyText(spec, "publisher"),
    secrets: textsAt(spec, "secrets"),
    template: annotations?.[IMAGE_TEMPLATE],
  };
}

/** Why it can become no ClusterCatalog, which reads an image and nothing else; undefined where it can. */
export function sourceFault({ type, image, address, configMap }: OlmV0CatalogSource): SourceFault | undefined {
  if (type === "internal" || type === "configmap")
    return {
      code: "FromConfigMap",
      text: `its content is in ConfigMap "${configMap ?? "?"}" (sourceType ${type})`,
      next: `${FBC}, and add it with olmv1 catalog add`,
    };
  if (type !== "grpc")
    return { code: "Unreadable", text: `its sourceType is "${type}", which OLM classic does not know`, next: "correct it, or delete it" };
  if (image !== undefined) return undefined;
  return address === undefined
    ? { code: "Unreadable", text: "it has neither an image nor an address", next: "correct it, or delete it" }
    : {
        code: "NoImage",
        text: `it is a server at ${address} and names no image`,
        next: `find the image that this server runs and add it with olmv1 catalog add; where there is none, ${FBC}`,
      };
}

/**
 * The ClusterCatalog that a CatalogSource becomes, and what of it has no place there, a sentence each.
 * @param image that it has; see `sourceFault`. @param intervalMs of its polling; undefined where it cannot be read, or it does none.
 */
export function clusterCatalogFor(
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
            ? `its image is a digest, which cannot change: it is not polled every ${pollInterval} any more`
            : `its poll interval "${pollInterval}" cannot be read: it is not polled`,
        ]
      : []),
    ...(minutes !== undefined && intervalMs !== minutes * MINUTE_MS
      ? [`it is polled every ${minutes} min, since whole minutes are what a ClusterCatalog has`]
      : []),
    ...(secrets.length > 0
      ? [
          `its pull secrets do not go with it: ${secrets.map((secret) => `${namespace}/${secret}`).join(", ")}; catalogd pulls with its own credentials, so add them to the Secret of --global-pull-secret`,
        ]
      : []),
    ...(template === undefined
      ? []
      : [
          `OLM classic chooses its image by the version of Kubernetes (${template}); the ClusterCatalog keeps ${image} until somebody changes it`,
        ]),
    ...(people.length > 0 ? [`a ClusterCatalog has no place for its ${people.join(" and ")}`] : []),
  ];
  const catalog: ClusterCatalog = {
    apiVersion: API_VERSION,
    kind: CLUSTER_CATALOG,
    metadata: { name },
    spec: {
      source: { type: "Image", image: { ref: image, ...(minutes === undefined ? {} : { pollIntervalMinutes: minutes }) } },
      ...(priority === 0 ? {} : { priority }),
    },
  };
  return { catalog, notes };
}
