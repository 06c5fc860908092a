import type { Readable } from "node:stream";
import type { ConnectionOptions } from "node:tls";

/** One HTTP request. */
export interface HttpRequest {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | Readable | null;
  readonly signal?: AbortSignal;
  /** Longest wait for the status line, from when the request is sent. Default 5 minutes. */
  readonly headersTimeoutMs?: number;
  /** Longest pause between two chunks of the body. Default 5 minutes. */
  readonly bodyTimeoutMs?: number;
}

/** A response whose body is not read yet. The caller must read the body or dump it. */
export interface HttpResponse {
  readonly statusCode: number;
  /** By name in lower case; an array for a repeated header. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: HttpBody;
}

/** The body of a response. An aborted or broken connection ends it with an error. */
export type HttpBody = Readable & {
  /**
   * Reads and discards the rest, so that the connection can be reused; closes the connection
   * instead if more than `limit` bytes follow. Default 128 KiB.
   */
  dump(options?: { limit: number }): Promise<unknown>;
};

/** Keep-alive connections to the servers of one set of TLS options. */
export interface Connections {
  /** @throws the error of Node or undici, with its `code`, when there is no response; the signal's reason when it aborts. */
  request(url: URL, request: HttpRequest): Promise<HttpResponse>;
  /** Closes idle connections now and the others after their last response. */
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
  /** Longest time until a connection is ready, TLS included. Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** URL of the proxy for all requests. */
  readonly proxy?: string | undefined;
  /** Uses HTTP/2 if the server offers it. Default false. */
  readonly http2?: boolean;
}

/** The TLS options of Node that connections take. */
const TLS_OPTIONS = [
  "ca",
  "cert",
  "key",
  "passphrase",
  "servername",
  "rejectUnauthorized",
  "secureContext",
  "minVersion",
  "maxVersion",
  "ciphers",
  "ecdhCurve",
  "sigalgs",
] as const;
