import { createHash } from "node:crypto";
import { getFilesKey } from "../catalogcache/catalogCache.ts";
import type { Meta } from "../fbc/types.ts";
import type { HttpResponse } from "../http/types.ts";
import { CatalogClient, type CatalogClientOptions } from "../operatorcontroller/catalogs/catalogClient.ts";
import type { CatalogRequests } from "../operatorcontroller/catalogs/catalogConnections.ts";

/** The content of a catalog that catalogd serves, from the status of its ClusterCatalog. */
export interface ServedPlace {
  /** URL of the catalog. */
  readonly base: string;
  /** Image reference with digest. */
  readonly ref: string;
}

/** How to read catalogs from catalogd. */
export interface ServedCatalogsOptions extends Pick<CatalogClientOptions, "limits"> {
  readonly requests: CatalogRequests;
  /** URL of the API server. */
  readonly cluster: string;
}

/** Reads the content of catalogs from the catalogd of one cluster, with the client and the limits of operator-controller. */
export class ServedCatalogs {
  readonly #requests: CatalogRequests;
  readonly #client: CatalogClient;
  readonly #cluster: string;

  constructor({ requests, cluster, limits = {} }: ServedCatalogsOptions) {
    this.#requests = requests;
    this.#client = new CatalogClient({ requests, limits });
    this.#cluster = cluster;
  }

  /**
   * Returns the cache key of the content. It differs from that of the image, because only the image's digest proves its content: a catalogd must not
   * determine what commands and other clusters get from the cache.
   */
  getKey({ base, ref }: ServedPlace): string {
    return getFilesKey(
      createHash("sha256")
        .update(JSON.stringify([this.#cluster, base, ref]))
        .digest("hex"),
    );
  }

  /** Yields all objects of a catalog. @throws the errors of `CatalogClient.allMetas` */
  read({ base, ref }: ServedPlace, signal: AbortSignal): AsyncGenerator<Meta> {
    return this.#client.allMetas(base.replace(/\/$/, ""), ref, signal);
  }

  /** Requests a path of a catalog. @throws Error if there is no response */
  get(base: string, path: string, signal: AbortSignal): Promise<HttpResponse> {
    return this.#requests.get(new URL(base.replace(/\/$/, "") + path), signal, {});
  }

  /** Ends all connections, including those in use. */
  close(): Promise<void> {
    return this.#client.close();
  }
}
