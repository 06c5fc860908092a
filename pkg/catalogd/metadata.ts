import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { LABEL_METADATA_NAME } from "../api/constants.ts";
import { refOf } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { isNotFound } from "../kube/errors.ts";

/** Label values end here; a longer name cannot be one. */
const MAX_LABEL = 63;

/** Writes the finalizers and the name label of catalogs, both in one patch and only on a difference. */
export class CatalogMetadata {
  readonly #client: Pick<Client, "patch">;

  constructor(client: Pick<Client, "patch">) {
    this.#client = client;
  }

  /**
   * Sets the label `olm.operatorframework.io/metadata.name` and, where given, the finalizers.
   * @param finalizers the whole new list; refused by the server when somebody else changed the object meanwhile.
   * @returns whether anything was written. A catalog that is gone is fine.
   * @throws KubeError
   */
  async set(catalog: Readonly<ClusterCatalog>, finalizers: readonly string[] | undefined, signal: AbortSignal): Promise<boolean> {
    const { name, uid, resourceVersion, labels } = catalog.metadata;
    const label = name.length <= MAX_LABEL && labels?.[LABEL_METADATA_NAME] !== name;
    if (!label && !finalizers) return false;
    const metadata = {
      uid,
      ...(label ? { labels: { [LABEL_METADATA_NAME]: name } } : {}),
      ...(finalizers ? { finalizers, resourceVersion } : {}),
    };
    try {
      await this.#client.patch(refOf(catalog), { metadata }, { type: "merge", signal });
      return true;
    } catch (err) {
      if (isNotFound(err)) return false;
      throw err;
    }
  }
}
