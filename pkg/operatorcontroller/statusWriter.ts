import type { ClusterExtension, ClusterExtensionStatus } from "../api/clusterExtension.ts";
import type { Client } from "../kube/client.ts";
import { isConflict, isInvalid, isNotFound } from "../kube/errors.ts";

/** Writes the status of extensions. */
export class StatusWriter {
  readonly #client: Pick<Client, "patch">;

  constructor(client: Pick<Client, "patch">) {
    this.#client = client;
  }

  /**
   * Replaces the status, if the extension is still the one that was read and not one made anew under its name.
   * @returns `changed` when it is not, or does not exist any more.
   * @throws KubeError otherwise. A status that the API server refuses because of the bundle's name or version is written without `install`,
   * or nobody would ever see its conditions.
   */
  async write(extension: Readonly<ClusterExtension>, status: ClusterExtensionStatus): Promise<"written" | "changed"> {
    try {
      return await this.#patch(extension, status);
    } catch (err) {
      if (!isInvalid(err) || status.install === undefined) throw err;
      return this.#patch(extension, { ...status, install: undefined });
    }
  }

  async #patch(extension: Readonly<ClusterExtension>, { conditions, install }: ClusterExtensionStatus): Promise<"written" | "changed"> {
    const { apiVersion, kind, metadata } = extension;
    const taken = extension.status?.activeRevisions === undefined ? {} : { activeRevisions: null };
    const body = { metadata: { uid: metadata.uid }, status: { conditions, install: install ?? null, ...taken } };
    try {
      await this.#client.patch({ apiVersion, kind, name: metadata.name }, body, { type: "merge", subresource: "status" });
      return "written";
    } catch (err) {
      if (isNotFound(err) || isConflict(err)) return "changed";
      throw err;
    }
  }
}
