import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { FINALIZER_DELETE_SERVER_CACHE, LABEL_METADATA_NAME } from "../api/constants.ts";
import { toObjectRef } from "../api/k8s.ts";
import { UpdateError } from "../controller/statusWriter.ts";
import { fail, stop, stopWithoutStatus } from "../controller/stepSequence.ts";
import { wrapError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isConflict, isNotFound } from "../kube/errors.ts";
import type { CatalogStep, Started, Withdrawn } from "./phases.ts";

/** Maximum length of a label value. A catalog with a longer name gets no label. */
const MAX_LABEL = 63;

/** Writes the finalizers and the name label of a catalog in one patch if they differ. */
export class CatalogMetadata {
  readonly #client: Pick<Client, "patch">;

  constructor(client: Pick<Client, "patch">) {
    this.#client = client;
  }

  /**
   * Sets the label `olm.operatorframework.io/metadata.name` and, if specified, the finalizers.
   * @param finalizers the complete new list. The API server rejects it if the object has changed.
   * @returns whether anything was written. A missing catalog is not an error.
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
      await this.#client.patch(toObjectRef(catalog), { metadata }, { type: "merge", signal });
      return true;
    } catch (err) {
      if (isNotFound(err)) return false;
      throw err;
    }
  }
}

const CONFLICT_MS = 1_000;

/** Sets the finalizer and the name label of a catalog before anything is stored for it. */
export function ensureMetadata(metadata: CatalogMetadata): CatalogStep<Started> {
  return {
    name: "EnsureMetadata",
    async run(phase, { log, signal }) {
      const finalizers = phase.catalog.metadata.finalizers ?? [];
      const missing = finalizers.includes(FINALIZER_DELETE_SERVER_CACHE) ? undefined : [...finalizers, FINALIZER_DELETE_SERVER_CACHE];
      try {
        if (await metadata.set(phase.catalog, missing, signal)) log.debug("metadata set");
        return phase;
      } catch (err) {
        if (!isConflict(err)) throw new UpdateError("finalizers", err);
        return stopWithoutStatus(phase, { requeueAfterMs: CONFLICT_MS }); // the reconcile that this change triggers uses the new object
      }
    },
  };
}

/** A component that stores data for catalogs and deletes it with the catalog. */
export interface CatalogKeeper {
  /** Removes all data stored for the catalog. Missing data is not an error. */
  remove(name: string): Promise<void>;
}

/**
 * Removes the content of a catalog that is deleted or unavailable, and ends the reconcile. The
 * finalizer is removed later, after the status has been written.
 * @param keepers in order of removal: the served content first.
 */
export function withdraw(keepers: readonly CatalogKeeper[]): CatalogStep<Started> {
  return {
    name: "Withdraw",
    async run(phase) {
      const { metadata, spec } = phase.catalog;
      const unavailable = spec.availabilityMode === "Unavailable";
      const deleted = metadata.deletionTimestamp !== undefined;
      if (!unavailable && !deleted) return phase;
      if (deleted && !metadata.finalizers?.includes(FINALIZER_DELETE_SERVER_CACHE)) return stopWithoutStatus(phase);
      const withdrawn: Withdrawn = { ...phase, phase: "withdrawn", why: deleted ? "deleted" : "unavailable" };
      try {
        for (const keeper of keepers) await keeper.remove(metadata.name);
      } catch (err) {
        return fail(withdrawn, unavailable ? err : wrapError(`finalizer "${FINALIZER_DELETE_SERVER_CACHE}" failed: `, err));
      }
      return stop(withdrawn);
    },
  };
}
