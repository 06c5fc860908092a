import type { Readable } from "node:stream";
import type { ConnectionOptions } from "node:tls";

/** One HTTP request. */
export interface HttpRequest {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | Readable | null;
  readonly signal?: AbortSignal;
  /** Maximum time from sending the request until the status line arrives. Default 5 minutes. */
  readonly headersTimeoutMs?: number;
  /** Maximum time between two chunks of the body. Default 5 minutes. */
  readonly bodyTimeoutMs?: number;
}

/** A response whose body is not read yet. The caller must read the body or dump it. */
export interface HttpResponse {
  readonly statusCode: number;
  /** Headers by lower-case name; the value of a repeated header is an array. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: HttpBody;
}

/** The body of a response. Ends with an error if the connection is aborted or broken. */
export type HttpBody = Readable & {
  /**
   * Reads and discards the rest of the body, so that the connection can be reused. Closes the
   * connection instead if more than `limit` bytes follow. Default 128 KiB.
   */
  dump(options?: { limit: number }): Promise<unknown>;
};

/** Keep-alive connections to the servers of one set of TLS options. */
export interface Connections {
  /** @throws the error of Node or undici, with its `code`, when there is no response; the signal's reason when it aborts. */
  request(url: URL, request: HttpRequest): Promise<HttpResponse>;
  /** Closes idle connections immediately and other connections after their last response. */
  close(): Promise<void>;
  /** Closes all connections; requests in progress fail. */
  destroy(): Promise<void>;
}

/** Options for opening connections. */
export interface ConnectionsOptions {
  readonly tls: Pick<ConnectionOptions, (typeof TLS_OPTIONS)[number]>;
  /** Resolves host names; default: Node's resolver. */
  readonly lookup?: ConnectionOptions["lookup"] | undefined;
  /** Maximum number of connections to one server. Default: unlimited. */
  readonly perServer?: number;
  /** How long an idle connection stays open. */
  readonly keepAliveMs: number;
  /** Maximum time until a connection is ready, including the TLS handshake. Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** URL of the proxy for all requests. */
  readonly proxy?: string | undefined;
  /** Uses HTTP/2 if the server offers it. Default false. */
  readonly http2?: boolean;
}

/** Node's TLS options for connections. */
const TLS_OPTIONS = [
  "ca",
  "cert",
  "key",
  "passphrase",
  "servername",
  "rejectUnauthorized",
  "minVersion",
  "maxVersion",
  "ciphers",
  "ecdhCurve",
  "sigalgs",
] as const;
