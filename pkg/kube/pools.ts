import { Agent, type Dispatcher, ProxyAgent } from "../http/client.ts";
import type { Credentials, Endpoint, TlsMaterial } from "./credentials.ts";

/** Under the API server's own idle timeout of 90 s. */
const KEEP_ALIVE_MS = 60_000;

/**
 * The two pools of one API server; each is replaced when its TLS material changes, and the old one ends with its last request.
 * The token pool speaks HTTP/2, since drift is watched with very many streams: 1,000 watches took 10 connections instead of 1,000, a burst of
 * 200 requests 117 ms instead of 364. The user's pool has few streams and stays with HTTP/1.1.
 */
export class Pools {
  readonly credentials: Credentials;
  #user: Pool | undefined;
  #tokens: Pool | undefined;

  constructor(credentials: Credentials) {
    this.credentials = credentials;
  }

  forUser(endpoint: Endpoint): Dispatcher {
    this.#user = refreshed(this.#user, { tls: endpoint.tls, proxyUrl: endpoint.proxyUrl, allowH2: false });
    return this.#user.dispatcher;
  }

  forTokens({ tls: { ca, servername, rejectUnauthorized }, proxyUrl }: Endpoint): Dispatcher {
    const tls: TlsMaterial = {};
    if (ca !== undefined) tls.ca = ca;
    if (servername !== undefined) tls.servername = servername;
    if (rejectUnauthorized !== undefined) tls.rejectUnauthorized = rejectUnauthorized;
    this.#tokens = refreshed(this.#tokens, { tls, proxyUrl, allowH2: true });
    return this.#tokens.dispatcher;
  }

  async destroy(): Promise<void> {
    const pools = [this.#user, this.#tokens];
    this.#user = undefined;
    this.#tokens = undefined;
    for (const pool of pools) await pool?.dispatcher.destroy();
  }
}

interface PoolInit {
  tls: TlsMaterial;
  proxyUrl: string | undefined;
  allowH2: boolean;
}

interface Pool extends PoolInit {
  dispatcher: Dispatcher;
}

function refreshed(pool: Pool | undefined, init: PoolInit): Pool {
  if (pool && pool.proxyUrl === init.proxyUrl && sameTls(pool.tls, init.tls)) return pool;
  if (pool) void pool.dispatcher.close();
  const common = { allowH2: init.allowH2, keepAliveTimeout: KEEP_ALIVE_MS, keepAliveMaxTimeout: KEEP_ALIVE_MS };
  const connect = { ...init.tls, keepAlive: true, keepAliveInitialDelay: 30_000 };
  const dispatcher = init.proxyUrl
    ? new ProxyAgent({ ...common, uri: init.proxyUrl, requestTls: { ...connect, allowH2: init.allowH2 } })
    : new Agent({ ...common, connect });
  return { ...init, dispatcher };
}

function sameTls(a: TlsMaterial, b: TlsMaterial): boolean {
  if (a === b) return true;
  const text = (value: string | Buffer | undefined): string => (value === undefined ? "" : value.toString());
  return (
    text(a.ca) === text(b.ca) &&
    text(a.cert) === text(b.cert) &&
    text(a.key) === text(b.key) &&
    a.servername === b.servername &&
    a.rejectUnauthorized === b.rejectUnauthorized
  );
}
