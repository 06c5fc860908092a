import { rootCertificates } from "node:tls";
import { openConnections } from "../../http/connections.ts";
import type { Connections, HttpResponse } from "../../http/types.ts";
import { createRequestError } from "../../oci/registry/networkError.ts";
import { getProxyFor } from "../../oci/registry/proxy.ts";
import type { TlsSettings } from "../../serving/tlsProfile.ts";
import { type Authorities, AuthorityFolder, type AuthoritySource, parseAuthorities } from "./certificateAuthorities.ts";

/** The options of connections to catalogs. */
export interface CatalogConnectionsOptions {
  /** Folder of PEM files with CAs to trust in addition to the system's roots. The files are read again when they change. */
  caDir?: string | undefined;
  /** More CAs to trust. */
  authorities?: AuthoritySource | undefined;
  /** Environment variables that configure the proxies. Default: the environment of the process. */
  env?: NodeJS.ProcessEnv;
  /** Returns the current TLS versions, ciphers and curves. Default: the defaults of Node.js. */
  tls?: () => TlsSettings;
  /** Maximum time to wait for the next bytes of a response, in milliseconds. Default: 30 s. */
  silenceMs?: number;
}

/** Limits how long an unresponsive catalogd blocks a reconcile or the deletion of an extension. */
const MAX_SILENCE_MS = 30_000;

/** Sends requests to catalogs. */
export interface CatalogRequests {
  /**
   * Sends a GET request for JSON Lines, and returns the response with any status. The caller must consume its body.
   * @param headers sent in addition to `accept`.
   * @throws Error if there is no response; the signal's reason when it aborts.
   */
  get(url: URL, signal: AbortSignal, headers: Record<string, string>): Promise<HttpResponse>;
  /** Ends all connections, including those in use. */
  close(): Promise<void>;
}

/** Keep-alive connections to catalogs, through the proxies in the environment. New connections use the current CAs and TLS settings. */
export class CatalogConnections implements CatalogRequests {
  readonly #env: NodeJS.ProcessEnv;
  readonly #tls: () => Partial<TlsSettings>;
  readonly #silenceMs: number;
  readonly #authorities: readonly AuthoritySource[];
  /** By proxy address; "" without a proxy. */
  readonly #pools = new Map<string, Connections>();
  /** Fingerprint of the CAs and TLS settings that the pools use. */
  #trusted = "";

  constructor({ caDir, authorities, env = process.env, tls, silenceMs = MAX_SILENCE_MS }: CatalogConnectionsOptions = {}) {
    this.#env = env;
    this.#tls = tls ?? (() => ({}));
    this.#silenceMs = silenceMs;
    this.#authorities = [...(caDir ? [new AuthorityFolder(caDir)] : []), ...(authorities ? [authorities] : [])];
  }

  /** @throws the error of `createRequestError` if there is no response. */
  async get(url: URL, signal: AbortSignal, headers: Record<string, string>): Promise<HttpResponse> {
    const proxy = getProxyFor(url, this.#env);
    const connections = this.#pool(proxy, await this.#trustedNow());
    try {
      return await connections.request(url, {
        method: "GET",
        signal,
        headers: { accept: "application/jsonl", ...headers },
        headersTimeoutMs: this.#silenceMs,
        bodyTimeoutMs: this.#silenceMs,
      });
    } catch (err) {
      throw createRequestError("GET", url, err, proxy);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  /** Returns the current CAs; undefined if only the system's roots are trusted. */
  async #trustedNow(): Promise<Authorities | undefined> {
    const [first, ...more] = await Promise.all(this.#authorities.map((source) => source.current()));
    return first && more.length > 0 ? parseAuthorities([first, ...more].flatMap(({ certificates }) => certificates)) : first;
  }

  /** Returns the pool for a proxy. Pools with outdated CAs or settings close after their last request. */
  #pool(proxy: URL | undefined, authorities: Authorities | undefined): Connections {
    const { fingerprint = "", certificates } = authorities ?? {};
    const settings = this.#tls();
    const trusted = `${fingerprint} ${JSON.stringify(settings)}`;
    if (trusted !== this.#trusted) {
      for (const pool of this.#pools.values()) void pool.close().catch(() => undefined);
      this.#pools.clear();
      this.#trusted = trusted;
    }
    const key = proxy?.href ?? "";
    const known = this.#pools.get(key);
    if (known) return known;
    const tls = { ...settings, ...(certificates ? { ca: [...rootCertificates, ...certificates] } : {}) };
    const pool = openConnections({ tls, proxy: proxy?.href, perServer: 16, keepAliveMs: 30_000 });
    this.#pools.set(key, pool);
    return pool;
  }
}
