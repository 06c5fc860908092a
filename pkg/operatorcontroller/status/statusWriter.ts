import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import { replaceStatus } from "../../controller/reconcile.ts";
import type { Client } from "../../kube/client.ts";
import { isInvalid } from "../../kube/errors.ts";

/** Writes the status of extensions. */
export class StatusWriter {
  readonly #client: Pick<Client, "get" | "patch">;

  constructor(client: Pick<Client, "get" | "patch">) {
    this.#client = client;
  }

  /**
   * Replaces the status, if the extension is still the one that was read and not one made anew under its name.
   * @returns `changed` when it is not, or does not exist any more.
   * @throws KubeError otherwise. A status that the API server refuses because of the bundle's name or version is written without `install`,
   * or nobody would ever see its conditions.
   */
  async write(extension: Readonly<ClusterExtension>, status: ClusterExtensionStatus): Promise<"written" | "changed"> {
    const written = await this.#replace(extension, status);
    return written ? "written" : "changed";
  }

  async #replace(extension: Readonly<ClusterExtension>, status: ClusterExtensionStatus): Promise<unknown> {
    try {
      return await replaceStatus(this.#client, extension, status);
    } catch (err) {
      if (!isInvalid(err) || status.install === undefined) throw err;
      const { install: _refused, ...rest } = status;
      return replaceStatus(this.#client, extension, rest);
    }
  }
}
