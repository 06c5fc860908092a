import { isObject } from "../golang/members.ts";
import type { Client } from "./client.ts";
import { kubeErrorFrom, readBodyText } from "./response.ts";

/** One kind that the API server serves, of one version. */
export interface ServedResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural name in paths. */
  readonly resource: string;
  readonly kind: string;
}

/** Versions of aggregated discovery: the second is that of servers before 1.30. */
const ACCEPT = ["v2", "v2beta1"].map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`).join(",");
const PATHS = ["/api", "/apis"] as const;
/** More than any cluster serves. */
const MAX_RESOURCES = 50_000;

interface Part {
  readonly etag: string | undefined;
  readonly resources: readonly ServedResource[];
}

/**
 * Everything that the API server serves, built-in kinds, custom resources and those of API services alike, by aggregated discovery: two
 * requests, which the server answers with next to nothing while nothing has changed.
 * @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
 */
export class ServedResources {
  readonly #client: Pick<Client, "request">;
  readonly #parts = new Map<string, Part>();
  #all: readonly ServedResource[] = [];

  constructor(client: Pick<Client, "request">) {
    this.#client = client;
  }

  /**
   * What is served now, in the server's order. The same list while that is the same. Calls must not overlap.
   * @throws KubeError when the server refuses; Error when it has no aggregated discovery.
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

  async #readPart(path: string, signal: AbortSignal): Promise<Part> {
    const known = this.#parts.get(path);
    const headers = { accept: ACCEPT, ...(known?.etag === undefined ? {} : { "if-none-match": known.etag }) };
    const response = await this.#client.request("GET", path, { headers, signal });
    const text = await readBodyText(response.body);
    if (response.statusCode === 304 && known) return known;
    const answer = parsed(text);
    if (response.statusCode >= 400) throw kubeErrorFrom(response.statusCode, answer, undefined);
    if (!isObject(answer) || answer["kind"] !== "APIGroupDiscoveryList")
      throw new Error(`${path} of the API server is no aggregated discovery: Kubernetes 1.27 or later is needed`);
    const { etag } = response.headers;
    return { etag: typeof etag === "string" ? etag : undefined, resources: resourcesIn(answer) };
  }
}

interface GroupDiscoveryList {
  items?: { metadata?: { name?: string }; versions?: { version: string; resources?: ResourceDiscovery[] }[] }[];
}

interface ResourceDiscovery {
  resource: string;
  responseKind?: { kind?: string };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function resourcesIn({ items = [] }: GroupDiscoveryList): ServedResource[] {
  return items.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version, resources = [] }) =>
      resources.flatMap(({ resource, responseKind }) =>
        responseKind?.kind ? [{ group: metadata?.name ?? "", version, resource, kind: responseKind.kind }] : [],
      ),
    ),
  );
}
