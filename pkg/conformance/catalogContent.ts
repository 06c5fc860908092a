import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { getErrorMessage } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { formatServiceProxyPath, parseServiceAddress } from "../kube/serviceProxy.ts";

/** A request for the content of a catalog. */
export interface CatalogQuery {
  /** Appended to status.urls.base, such as "/api/v1/all". */
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** A response with the content of a catalog. */
export interface CatalogReply {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed. */
  readonly body: string;
  /** The values in the body if each of its lines is JSON. */
  readonly lines?: readonly unknown[];
}

/** Requests the content of catalogs at status.urls.base. Does not follow redirects. */
export interface ContentReader {
  read(base: string, request: CatalogQuery, signal: AbortSignal): Promise<CatalogReply>;
}

/**
 * Reads content from outside of the cluster: from Services through the proxy of the API server, which needs permission to get services/proxy, and from
 * other addresses directly.
 */
export class ClusterContentReader implements ContentReader {
  readonly #client: Pick<Client, "request">;

  constructor(client: Pick<Client, "request">) {
    this.#client = client;
  }

  async read(base: string, request: CatalogQuery, signal: AbortSignal): Promise<CatalogReply> {
    const url = new URL(base + request.path);
    const address = parseServiceAddress(url);
    if (!address) return readDirectly(url, request, signal);
    const path = formatServiceProxyPath(address, url);
    const { method, headers, body } = request;
    const response = await this.#client.request(method, path, { headers, signal, ...(body === undefined ? {} : { body }) });
    const bytes = await buffer(response.body);
    const got = Object.fromEntries(Object.entries(response.headers).map(([header, value]) => [header, [value ?? ""].flat().join(", ")]));
    return toResponse(response.statusCode, got, got["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes);
  }
}

async function readDirectly(url: URL, { method, headers, body }: CatalogQuery, signal: AbortSignal): Promise<CatalogReply> {
  const options: RequestInit = { method, headers, redirect: "manual", signal, ...(body === undefined ? {} : { body }) };
  const response = await fetch(url, options).catch((err: Error) => {
    // The message of fetch does not contain the reason, such as an unknown certificate authority.
    throw new Error(`cannot read ${url.href}: ${getErrorMessage(err.cause ?? err)}`, { cause: err });
  });
  return toResponse(response.status, Object.fromEntries(response.headers), Buffer.from(await response.arrayBuffer()));
}

function toResponse(status: number, headers: Readonly<Record<string, string>>, bytes: Buffer): CatalogReply {
  const body = bytes.toString();
  const lines = parseLines(body);
  return { status, headers, body, ...(lines ? { lines } : {}) };
}

function parseLines(body: string): unknown[] | undefined {
  try {
    return body
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => JSON.parse(line) as unknown);
  } catch {
    return undefined;
  }
}
