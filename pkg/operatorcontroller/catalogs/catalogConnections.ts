import { rootCertificates } from "node:tls";
import { openConnections } from "../../http/connections.ts";
import type { Connections, HttpResponse } from "../../http/types.ts";
import { failureOf } from "../../oci/registry/networkError.ts";
import { proxyFor } from "../../oci/registry/proxy.ts";
import type { TlsSettings } from "../../serving/tlsProfile.ts";
import { type Authorities, AuthorityFolder, type AuthoritySource, authoritiesOf } from "./authorityFolder.ts";

/** Whom to trust, and how to speak to catalogs. */
export interface CatalogConnectionsOptions {
  /** Folder of PEM files trusted beside the system's roots, read again when they change. */
  caDir?: string | undefined;
  /** Others that are trusted as well. */
  authorities?: AuthoritySource | undefined;
  /** Says which proxies there are; default: that of the process. */
  env?: NodeJS.ProcessEnv;
  /** Versions, ciphers and curves to speak to catalogs with, as they are by then; default: Node's own. */
  tls?: () => TlsSettings;
  /** Longest wait for the next bytes of a response, in milliseconds. Default 30 s. */
  silenceMs?: number;
}

/** A reconcile waits no longer for a catalogd that hangs, and neither does the deletion of its extension. */
const SILENCE_MS = 30_000;

/** Keep-alive connections to catalogs, through the proxies that the environment names; new ones follow the authorities and settings. */
export class CatalogConnections {
  readonly #env: NodeJS.ProcessEnv;
  readonly #tls: () => Partial<TlsSettings>;
  readonly #silenceMs: number;
  readonly #authorities: readonly AuthoritySource[];
  /** By address of the proxy; "" is none. */
  readonly #pools = new Map<string, Connections>();
  /** Of the authorities that the pools trust, and the settings that they have. */
  #trusted = "";

  constructor({ caDir, authorities, env = process.env, tls, silenceMs = SILENCE_MS }: CatalogConnectionsOptions = {}) {
    this.#env = env;
    this.#tls = tls ?? (() => ({}));
    this.#silenceMs = silenceMs;
    this.#authorities = [...(caDir ? [new AuthorityFolder(caDir)] : []), ...(authorities ? [authorities] : [])];
  }

  /**
   * The answer to a GET of JSON Lines, whatever its status. The caller must consume its body.
   * @param headers sent beside `accept`.
   * @throws as `failureOf` tells it when there is no answer.
   */
  async get(url: URL, signal: AbortSignal, headers: Record<string, string>): Promise<HttpResponse> {
    const proxy = proxyFor(url, this.#env);
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
      throw failureOf("GET", url, err, proxy);
    }
  }

  /** Ends all connections, those in use included. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  /** Undefined where only the system's roots are trusted. */
  async #trustedNow(): Promise<Authorities | undefined> {
    const [first, ...more] = await Promise.all(this.#authorities.map((source) => source.current()));
    return first && more.length > 0 ? authoritiesOf([first, ...more].flatMap(({ certificates }) => certificates)) : first;
  }

  /** Pools that trust other authorities than these, or have other settings, end with their last request. */
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
