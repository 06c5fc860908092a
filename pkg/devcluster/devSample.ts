import { API_VERSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { loadBundle } from "../bundle/load.ts";
import { pushImage } from "../oci/publish/push.ts";
import { buildInstallerManifests, labelCreatedFor } from "../rbac/installerManifests.ts";
import { computeRequiredRules } from "../rbac/requiredRules.ts";
import { mergeRequiredRules } from "../rbac/ruleSets.ts";
import { renderBundle } from "../render/render.ts";
import { CONTROLLER_SUBJECT } from "./installation.ts";
import type { Narrator } from "./narrator.ts";
import {
  buildSampleBundles,
  buildSampleImages,
  SAMPLE_CATALOG_REPOSITORY,
  SAMPLE_CATALOG_TAG,
  SAMPLE_PACKAGE,
  SAMPLE_VERSIONS,
} from "./sample/sample.ts";

/** Name of the sample ClusterCatalog. */
export const CATALOG = "hello-catalog";
/** The sample extension: its namespace, ServiceAccount and versions. */
export const EXTENSION = {
  name: "hello",
  namespace: "hello",
  serviceAccount: "hello-installer",
  firstVersion: SAMPLE_VERSIONS[0],
  lastVersion: SAMPLE_VERSIONS[2],
} as const;

/** Pushes the sample's bundles and its catalog. @returns when everything can be pulled. */
export async function pushSample(host: string, narrator: Narrator): Promise<void> {
  for (const { repository, tag, files, labels } of buildSampleImages(host)) {
    const { digest } = await pushImage({ host, insecure: true }, repository, tag, { files, labels });
    narrator.print("push", `${host}/${repository}:${tag} (${digest})`);
  }
}

/** The objects that a user applies to install the sample. */
export interface SampleObjects {
  /** Namespace, ServiceAccount and its permissions, in this order. */
  installer: KubeObject[];
  catalog: KubeObject;
  extension: KubeObject;
}

/**
 * Returns the sample objects; the ServiceAccount gets exactly the rules that its versions need. They have the same label as objects that `olmv1
 * install` creates, so that `olmv1 upgrade` and `olmv1 uninstall` manage them too.
 */
export function buildSampleObjects(host: string): SampleObjects {
  const { name, namespace, serviceAccount, firstVersion } = EXTENSION;
  const rules = buildSampleBundles().map(({ files }) => {
    const objects = renderBundle(loadBundle(files), { installNamespace: namespace });
    return computeRequiredRules(objects, { installNamespace: namespace });
  });
  return {
    installer: [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
      ...buildInstallerManifests({ namespace, name: serviceAccount }, mergeRequiredRules(rules), CONTROLLER_SUBJECT),
    ].map((object) => labelCreatedFor(name, object)),
    catalog: {
      apiVersion: API_VERSION,
      kind: "ClusterCatalog",
      metadata: { name: CATALOG },
      spec: { source: { type: "Image", image: { ref: `${host}/${SAMPLE_CATALOG_REPOSITORY}:${SAMPLE_CATALOG_TAG}` } } },
    },
    extension: {
      apiVersion: API_VERSION,
      kind: "ClusterExtension",
      metadata: { name },
      spec: {
        namespace,
        serviceAccount: { name: serviceAccount },
        source: { sourceType: "Catalog", catalog: { packageName: SAMPLE_PACKAGE, channels: ["stable"], version: firstVersion } },
      },
    },
  };
}
