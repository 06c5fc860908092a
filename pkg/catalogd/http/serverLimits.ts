/** Limits of a content server. */
export interface ServerLimits {
  /** Maximum characters of the path with its query; beyond: 414. */
  urlLength: number;
  /** Maximum bytes of the request line and all headers; beyond: 431. */
  headerBytes: number;
  /** Maximum number of query parameters; beyond: 400. */
  queryPieces: number;
  /**
   * Milliseconds in which a request must arrive including its body, and in which its headers must
   * arrive.
   */
  requestMs: number;
  /** Milliseconds of the TLS handshake. */
  handshakeMs: number;
  /** Milliseconds without progress in reading or writing after which a connection is cut. */
  stallMs: number;
  /** Maximum milliseconds of a response, regardless of its progress. */
  responseMs: number;
  /** Milliseconds that a connection may be idle between two requests. */
  idleMs: number;
  /** Maximum connections, in total and per client address; more are closed immediately. */
  connections: number;
  connectionsPerClient: number;
  /** Maximum requests in progress; beyond: 503. */
  requests: number;
  /** Maximum responses with a large body in progress, in total and per client address; more wait. */
  transfers: number;
  transfersPerClient: number;
  /** Milliseconds that such a response waits before it fails with 503. */
  transferWaitMs: number;
  /** Maximum number of waiting responses; beyond: 503. One client may have half of them. */
  transferQueue: number;
  /** Bytes per second: while others wait, a slower transfer loses its slot. */
  transferFloor: number;
  /** Milliseconds between two progress checks while others wait. */
  transferCheckMs: number;
}

/** Same as the Go server where it has a limit: 5 s for a request, 5 min for a response. */
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
  requests: 1_024,
  transfers: 128,
  transfersPerClient: 64,
  transferWaitMs: 20_000,
  transferQueue: 256,
  transferFloor: 128 * 1_024,
  transferCheckMs: 1_000,
};
