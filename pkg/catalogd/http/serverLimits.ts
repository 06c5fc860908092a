/** What one content server gives to its clients at most. */
export interface ServerLimits {
  /** Characters of the path with its query; longer ones are answered with 414. */
  urlLength: number;
  /** Bytes of the request line and all headers; more are answered with 431. */
  headerBytes: number;
  /** Pieces of a query; more are answered with 400. */
  queryPieces: number;
  /** Milliseconds in which a request has to arrive, body included, and its headers alone. */
  requestMs: number;
  /** Milliseconds of the TLS handshake. */
  handshakeMs: number;
  /** Milliseconds without any progress, in reading or in writing, after which a connection is cut. */
  stallMs: number;
  /** Milliseconds that an answer takes at most, however fast it makes progress. */
  responseMs: number;
  /** Milliseconds that a connection may be idle between two requests. */
  idleMs: number;
  /** Connections, of all clients and of one address; more are closed at once. */
  connections: number;
  connectionsPerClient: number;
  /** Requests under way; more are answered with 503. */
  requests: number;
  /** Answers with a large body that are being sent, to all clients and to one address; more wait. */
  transfers: number;
  transfersPerClient: number;
  /** Milliseconds that such an answer waits before it is 503. */
  transferWaitMs: number;
  /** Answers that wait; more are 503 at once. One client may have half of them. */
  transferQueue: number;
  /** Bytes a second: while others wait, a slower transfer loses its place. */
  transferFloor: number;
  /** Milliseconds between two looks at the progress while others wait. */
  transferCheckMs: number;
}

/** As the Go server where it has a limit: 5 s for a request, 5 min for an answer. */
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
