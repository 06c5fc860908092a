import { API_VERSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { pushImage } from "../oci/publish/push.ts";
import type { Narrator } from "./narrator.ts";
import { buildSampleImages, SAMPLE_CATALOG_REPOSITORY, SAMPLE_CATALOG_TAG, SAMPLE_PACKAGE, SAMPLE_VERSIONS } from "./sample/sample.ts";

/** Name of the sample ClusterCatalog. */
export const CATALOG = "hello-catalog";
/** The sample extension: its name, the namespace that permission-manager creates for it, and its versions. */
export const EXTENSION = {
  name: "hello",
  namespace: `${SAMPLE_PACKAGE}-system`,
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
  catalog: KubeObject;
  extension: KubeObject;
}

/** Returns the catalog of the sample, and the shortest extension that installs its first version. permission-manager grants its permissions. */
export function buildSampleObjects(host: string): SampleObjects {
  const { name, firstVersion } = EXTENSION;
  return {
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
      spec: { source: { sourceType: "Catalog", catalog: { packageName: SAMPLE_PACKAGE, version: firstVersion } } },
    },
  };
}
