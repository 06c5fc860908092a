import { openConnections } from "../http/connections.ts";
import type { Connections } from "../http/types.ts";
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

  forUser(endpoint: Endpoint): Connections {
    this.#user = refreshed(this.#user, { tls: endpoint.tls, proxyUrl: endpoint.proxyUrl, http2: false });
    return this.#user.connections;
  }

  forTokens({ tls: { ca, servername, rejectUnauthorized }, proxyUrl }: Endpoint): Connections {
    const tls: TlsMaterial = {};
    if (ca !== undefined) tls.ca = ca;
    if (servername !== undefined) tls.servername = servername;
    if (rejectUnauthorized !== undefined) tls.rejectUnauthorized = rejectUnauthorized;
    this.#tokens = refreshed(this.#tokens, { tls, proxyUrl, http2: true });
    return this.#tokens.connections;
  }

  async destroy(): Promise<void> {
    const pools = [this.#user, this.#tokens];
    this.#user = undefined;
    this.#tokens = undefined;
    for (const pool of pools) await pool?.connections.destroy();
  }
}

interface PoolInit {
  tls: TlsMaterial;
  proxyUrl: string | undefined;
  http2: boolean;
}

interface Pool extends PoolInit {
  connections: Connections;
}

function refreshed(pool: Pool | undefined, init: PoolInit): Pool {
  if (pool && pool.proxyUrl === init.proxyUrl && sameTls(pool.tls, init.tls)) return pool;
  if (pool) void pool.connections.close();
  const { tls, proxyUrl: proxy, http2 } = init;
  return { ...init, connections: openConnections({ tls, proxy, http2, keepAliveMs: KEEP_ALIVE_MS }) };
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
