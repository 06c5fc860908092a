/** Limits of a content server. */
export interface ServerLimits {
  /** Maximum number of characters in path and query; longer URLs get 414. */
  urlLength: number;
  /** Maximum size of the request line and all headers in bytes; larger requests get 431. */
  headerBytes: number;
  /** Maximum number of query parameters; queries with more get 400. */
  queryPieces: number;
  /** Time in which the headers and the body of a request must arrive, in milliseconds. */
  requestMs: number;
  /** Maximum time for the TLS handshake, in milliseconds. */
  handshakeMs: number;
  /** Time without progress in reading or writing after which a connection is closed, in milliseconds. */
  stallMs: number;
  /** Maximum time for a response regardless of its progress, in milliseconds. */
  responseMs: number;
  /** Maximum idle time of a connection between two requests, in milliseconds. */
  idleMs: number;
  /** Maximum number of connections, in total and per client address. Further connections are closed immediately. */
  connections: number;
  connectionsPerClient: number;
  /** Maximum number of requests of one connection that wait for the previous response. A connection with more is closed. */
  pipelined: number;
  /** Maximum number of requests in progress; further requests get 503. */
  requests: number;
  /** Maximum number of large responses in progress, in total and per client address. Further large responses wait. */
  transfers: number;
  transfersPerClient: number;
  /**
   * Maximum size of the large responses in progress whose bodies are in memory, in bytes, in total and per client address.
   * Further ones wait. The same limits apply to the waiting ones, and further ones get 503.
   */
  transferMemory: number;
  transferMemoryPerClient: number;
  /** Time that a large response waits before it fails with 503, in milliseconds. */
  transferWaitMs: number;
  /** Maximum number of waiting responses; further responses fail with 503. One client may use half of this number. */
  transferQueue: number;
  /** Minimum transfer rate in bytes per second. While other responses wait, a slower transfer loses its slot. */
  transferFloor: number;
  /** Interval of progress checks while other responses wait, in milliseconds. */
  transferCheckMs: number;
}

/** Same limits as the Go server where it has one: 5 s for a request and 5 min for a response. */
export const SERVER_LIMITS: ServerLimits = {
  urlLength: 8_192,
  headerBytes: 32 * 1_024,
  queryPieces: 100,
  requestMs: 5_000,
  handshakeMs: 10_000,
  stallMs: 30_000,
  responseMs: 5 * 60_000,
  idleMs: 60_000,
  connections: 1_024,
  connectionsPerClient: 512,
  pipelined: 64,
  requests: 1_024,
  transfers: 128,
  transfersPerClient: 64,
  transferMemory: 128 * 1_024 * 1_024,
  transferMemoryPerClient: 64 * 1_024 * 1_024,
  transferWaitMs: 20_000,
  transferQueue: 256,
  transferFloor: 128 * 1_024,
  transferCheckMs: 1_000,
};
