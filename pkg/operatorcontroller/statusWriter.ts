import type { ClusterExtension, ClusterExtensionStatus } from "../api/clusterExtension.ts";
import type { Client } from "../kube/client.ts";
import { isInvalid, isNotFound } from "../kube/errors.ts";

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
  async write(extension: Readonly<ClusterExtension>, { conditions, install }: ClusterExtensionStatus): Promise<"written" | "changed"> {
    try {
      await this.#replace(extension, install === undefined ? { conditions } : { conditions, install });
      return "written";
    } catch (err) {
      if (isNotFound(err)) return "changed";
      if (!isInvalid(err)) throw err;
      if (!(await this.#isSame(extension))) return "changed";
      if (install === undefined) throw err;
      await this.#replace(extension, { conditions });
      return "written";
    }
  }

  /** A merge patch would not do: of the metadata in a patch of a status the API server takes nothing, not even the uid as a condition. */
  async #replace({ apiVersion, kind, metadata }: Readonly<ClusterExtension>, status: ClusterExtensionStatus): Promise<void> {
    const body = [
      { op: "test", path: "/metadata/uid", value: metadata.uid },
      { op: "add", path: "/status", value: status },
    ];
    await this.#client.patch({ apiVersion, kind, name: metadata.name }, body, { type: "json", subresource: "status" });
  }

  async #isSame({ apiVersion, kind, metadata }: Readonly<ClusterExtension>): Promise<boolean> {
    const live = await this.#client.get({ apiVersion, kind, name: metadata.name }, { metadataOnly: true });
    return live?.metadata.uid === metadata.uid;
  }
}
