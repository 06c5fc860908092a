import type { Logger } from "../pkg/telemetry/log.ts";

/** Codes with which undici and Node tell of a connection that ended. */
const LOST_CONNECTION = /^(UND_ERR_SOCKET|UND_ERR_INFO|ECONNRESET|EPIPE|ERR_HTTP2_\w+)$/;

/**
 * Keeps a program alive when the end of a connection is told to nobody: rarely, an HTTP/2 connection that breaks under load gives its error
 * to a stream that was done with already. Every request has its own answer or time limit, so nothing waits for it; it is logged, to be found.
 * Every other error that nobody caught ends the program as ever.
 * @see https://github.com/nodejs/undici/issues/5586
 */
export function surviveLostConnections(log: Logger): void {
  process.on("uncaughtException", (err: Error, origin) => {
    const isLost = "code" in err && LOST_CONNECTION.test(String(err.code));
    log[isLost ? "error" : "fatal"]({ err, origin }, isLost ? "connection ended and nobody was told" : "error that nobody caught");
    if (!isLost) process.exit(1);
  });
}
