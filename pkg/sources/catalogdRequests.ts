import type { HttpResponse } from "../http/types.ts";
import type { Client } from "../kube/client.ts";
import { formatServiceProxyPath, parseServiceAddress, type ServiceAddress } from "../kube/serviceProxy.ts";
import type { CatalogRequests } from "../operatorcontroller/catalogs/catalogConnections.ts";

/** Where catalogd serves a catalog: a Service in the cluster, or this machine, where the development cluster runs catalogd. */
export type CatalogdPlace = ({ readonly kind: "service" } & ServiceAddress) | { readonly kind: "loopback" };

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;
/** Excludes escapes, which a proxy could decode to another path. */
const PATH = /^[\w./~-]*$/;

/**
 * Finds out where catalogd serves a catalog.
 * @param url address from the status of a ClusterCatalog, which can contain anything.
 * @returns undefined for an address of another host, and for one that catalogd does not use.
 */
export function locateCatalogd(url: URL): CatalogdPlace | undefined {
  const { protocol, hostname, pathname } = url;
  const hasMore = url.username + url.password + url.search + url.hash !== "";
  const isUsual = (protocol === "https:" || protocol === "http:") && !hasMore && PATH.test(pathname);
  if (!isUsual) return undefined;
  if (LOOPBACK.test(hostname)) return { kind: "loopback" };
  const address = parseServiceAddress(url);
  return address && { kind: "service", ...address };
}

/**
 * Requests to catalogd from outside of the cluster: through the API server's proxy for Services, with the identity of the client, which needs
 * permission to get services/proxy. The API server removes the credentials of the user from these requests.
 */
export class ServiceProxyRequests implements CatalogRequests {
  readonly #client: Pick<Client, "request">;
  readonly #direct: CatalogRequests;
  readonly #isLocal: boolean;

  /**
   * @param direct sends requests to the development cluster on this machine.
   * @param server URL of the API server. If it is not on this machine, neither is its catalogd, and
   * a status must not direct requests to other programs on this machine.
   */
  constructor(client: Pick<Client, "request">, direct: CatalogRequests, server: string) {
    this.#client = client;
    this.#direct = direct;
    this.#isLocal = LOOPBACK.test(URL.parse(server)?.hostname ?? "");
  }

  /** @throws Error for an address that is neither a Service nor the development cluster on this machine. */
  async get(url: URL, signal: AbortSignal, headers: Record<string, string>): Promise<HttpResponse> {
    const place = locateCatalogd(url);
    if (place === undefined || (place.kind === "loopback" && !this.#isLocal)) throw createPlaceError(url);
    if (place.kind === "loopback") return this.#direct.get(url, signal, headers);
    const path = formatServiceProxyPath(place, url);
    return this.#client.request("GET", path, { signal, headers: { accept: "application/jsonl", ...headers } });
  }

  /** The client belongs to the caller. */
  close(): Promise<void> {
    return this.#direct.close();
  }
}

/** Requests to catalogd from a Pod in the cluster, without credentials. Does not send requests to other hosts than Services. */
export class ServiceRequests implements CatalogRequests {
  readonly #direct: CatalogRequests;

  constructor(direct: CatalogRequests) {
    this.#direct = direct;
  }

  /** @throws Error for an address that is not a Service. */
  async get(url: URL, signal: AbortSignal, headers: Record<string, string>): Promise<HttpResponse> {
    if (locateCatalogd(url)?.kind !== "service") throw createPlaceError(url);
    return this.#direct.get(url, signal, headers);
  }

  close(): Promise<void> {
    return this.#direct.close();
  }
}

function createPlaceError({ host }: URL): Error {
  return new Error(`the console does not read catalogs from ${host}, which is not a Service of the cluster`);
}
