import type { Dispatcher } from "undici";
import api from "undici/lib/api/index.js";
import Agent from "undici/lib/dispatcher/agent.js";
import DispatcherBase from "undici/lib/dispatcher/dispatcher.js";
import ProxyAgent from "undici/lib/dispatcher/proxy-agent.js";
import { shareSecureContext } from "./secureContext.ts";
import { CONNECT_TIMEOUT_MS, limitBodyPauses, TCP_PROBE_MS } from "./timeouts.ts";
import type { Connections, ConnectionsOptions, HttpRequest, HttpResponse } from "./types.ts";

// Imports only the required files of undici, because its main file also loads fetch, WebSocket,
// caches and mocks. Adds the request methods to dispatchers, like the main file.
Object.assign(DispatcherBase.prototype, api);

/** Connections of undici, for HTTP/2 and proxies. */
export class UndiciConnections implements Connections {
  readonly #dispatcher: Dispatcher;
  readonly #limited: Dispatcher;

  constructor({ tls, lookup, perServer, keepAliveMs, connectTimeoutMs, proxy, http2 = false }: ConnectionsOptions) {
    const common = {
      allowH2: http2,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      ...(perServer === undefined ? {} : { connections: perServer }),
    };
    const connect = {
      ...shareSecureContext(tls),
      ...(lookup ? { lookup } : {}),
      timeout: connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelay: TCP_PROBE_MS,
    };
    this.#dispatcher =
      proxy === undefined
        ? new Agent({ ...common, connect })
        : new ProxyAgent({ ...common, uri: proxy, requestTls: { ...connect, allowH2: http2 } });
    this.#limited = this.#dispatcher.compose(limitBodyPauses);
  }

  request(url: URL, { method, headers, body, signal, headersTimeoutMs, bodyTimeoutMs }: HttpRequest): Promise<HttpResponse> {
    return this.#limited.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method,
      headers: headers ?? {},
      body: body ?? null,
      ...(signal ? { signal } : {}),
      ...(headersTimeoutMs === undefined ? {} : { headersTimeout: headersTimeoutMs }),
      ...(bodyTimeoutMs === undefined ? {} : { bodyTimeout: bodyTimeoutMs }),
    });
  }

  close(): Promise<void> {
    return this.#dispatcher.close();
  }

  destroy(): Promise<void> {
    return this.#dispatcher.destroy();
  }
}
