import { isObject } from "../golang/members.ts";
import type { Client } from "./client.ts";
import { parseJsonOrText, readBodyText, readResponse, toKubeError } from "./response.ts";

/** One kind and version that the API server serves. */
export interface ServedResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural name in paths. */
  readonly resource: string;
  readonly kind: string;
}

/** Accepted versions of aggregated discovery; the second is for API servers before 1.30. */
const ACCEPT = ["v2", "v2beta1"].map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`).join(",");
const PATHS = ["/api", "/apis"] as const;
/** Maximum number of resources, more than any cluster serves. */
const MAX_RESOURCES = 50_000;

interface DiscoveryPart {
  readonly etag: string | undefined;
  readonly resources: readonly ServedResource[];
}

/**
 * Lists everything that the API server serves, including custom resources and API services, by
 * aggregated discovery. Needs two requests, with almost empty responses if nothing has changed.
 * @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
 */
export class ServedResources {
  readonly #client: Pick<Client, "request">;
  readonly #parts = new Map<string, DiscoveryPart>();
  #all: readonly ServedResource[] = [];

  constructor(client: Pick<Client, "request">) {
    this.#client = client;
  }

  /**
   * Returns the served resources in the server's order. If nothing has changed, returns the same
   * list object. Calls must not overlap.
   * @throws KubeError if the server denies the request; Error if it does not support aggregated
   * discovery.
   */
  async read(signal: AbortSignal): Promise<readonly ServedResource[]> {
    let isChanged = false;
    for (const path of PATHS) {
      const part = await this.#readPart(path, signal);
      isChanged ||= part !== this.#parts.get(path);
      this.#parts.set(path, part);
    }
    if (isChanged) this.#all = PATHS.flatMap((path) => this.#parts.get(path)?.resources ?? []).slice(0, MAX_RESOURCES);
    return this.#all;
  }

  async #readPart(path: string, signal: AbortSignal): Promise<DiscoveryPart> {
    const known = this.#parts.get(path);
    const headers = { accept: ACCEPT, ...(known?.etag === undefined ? {} : { "if-none-match": known.etag }) };
    const response = await this.#client.request("GET", path, { headers, signal });
    const text = await readBodyText(response.body);
    if (response.statusCode === 304 && known) return known;
    const answer = parseJsonOrText(text);
    if (response.statusCode >= 400) throw toKubeError(response.statusCode, answer, undefined);
    if (!isObject(answer) || answer["kind"] !== "APIGroupDiscoveryList")
      throw new Error(`path ${path} of the API server does not support aggregated discovery: Kubernetes 1.27 or later is required`);
    const { etag } = response.headers;
    return { etag: typeof etag === "string" ? etag : undefined, resources: listResources(answer) };
  }
}

interface GroupDiscoveryList {
  items?: { metadata?: { name?: string }; versions?: { version: string; resources?: ResourceDiscovery[] }[] }[];
}

interface ResourceDiscovery {
  resource: string;
  responseKind?: { kind?: string };
}

function listResources({ items = [] }: GroupDiscoveryList): ServedResource[] {
  return items.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version, resources = [] }) =>
      resources.flatMap(({ resource, responseKind }) =>
        responseKind?.kind ? [{ group: metadata?.name ?? "", version, resource, kind: responseKind.kind }] : [],
      ),
    ),
  );
}

/** The version and the clock of an API server. */
export interface ServerInfo {
  /** Such as "v1.36.3"; empty if the response omits it. */
  readonly version: string;
  /** Milliseconds since the epoch; this machine's clock if the response has no date. */
  readonly now: number;
}

/** Reads the version and the clock of the API server. @throws KubeError if the request fails. */
export async function readServerInfo(client: Pick<Client, "request">, signal: AbortSignal): Promise<ServerInfo> {
  const response = await client.request("GET", "/version", { signal });
  const { gitVersion: version = "" } = (await readResponse(response, (text) => text)) as { gitVersion?: string };
  const { date } = response.headers;
  return { version, now: typeof date === "string" ? Date.parse(date) : Date.now() };
}
