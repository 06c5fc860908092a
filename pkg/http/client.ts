import type { Dispatcher } from "undici";
import apiRequest from "undici/lib/api/api-request.js";
import Agent from "undici/lib/dispatcher/agent.js";
import ProxyAgent from "undici/lib/dispatcher/proxy-agent.js";

// undici's main file also loads fetch, WebSocket, caches and mocks, which take several megabytes of memory. The programs need connections and requests only.

export type { Dispatcher } from "undici";
export { Agent, ProxyAgent };

/** Options of one request; `dispatcher` holds the connections. */
export interface RequestOptions extends Omit<Dispatcher.RequestOptions, "origin" | "path"> {
  readonly dispatcher: Dispatcher;
}

/**
 * Sends one HTTP request, as `request` of undici does.
 * @throws undici's errors when there is no response; the signal's reason when it aborts.
 */
export function request(url: URL, { dispatcher, ...options }: RequestOptions): Promise<Dispatcher.ResponseData> {
  return apiRequest.call(dispatcher, { ...options, origin: url.origin, path: `${url.pathname}${url.search}` });
}
