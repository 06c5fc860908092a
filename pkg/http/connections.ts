import { Http1Connections } from "./http1.ts";
import type { Connections, ConnectionsOptions, HttpRequest, HttpResponse } from "./types.ts";

/**
 * Opens connections on demand. Node's client serves HTTP/1.1; undici serves HTTP/2 and proxies. undici is loaded with the first such request, because it
 * takes 15 MB of memory, most of it for its parser in WebAssembly.
 */
export function openConnections(options: ConnectionsOptions): Connections {
  return options.proxy === undefined && options.http2 !== true ? new Http1Connections(options) : new UndiciOnDemand(options);
}

class UndiciOnDemand implements Connections {
  readonly #options: ConnectionsOptions;
  #opened: Promise<Connections> | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  async request(url: URL, request: HttpRequest): Promise<HttpResponse> {
    this.#opened ??= import("./undici.ts").then(({ UndiciConnections }) => new UndiciConnections(this.#options));
    return (await this.#opened).request(url, request);
  }

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }

  async destroy(): Promise<void> {
    await (await this.#opened)?.destroy();
  }
}
