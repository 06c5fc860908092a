import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Status texts as in Go. */
const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Request Entity Too Large",
  431: "Request Header Fields Too Large",
};
const STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_INVALID_METHOD: 405,
};
/** Start of a valid request line with a method that Node's parser does not know. */
const SOME_METHOD = /^[!#$%&'*+.^_`|~\w-]{1,64} \/\S* HTTP\/1\.[01]\r?\n/;

/** A parser error or a connection error of Node. */
export interface ClientError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

/** Returns the HTTP status for a request that could not be parsed. */
function clientErrorStatus({ code = "", rawPacket }: ClientError): number {
  const status = STATUS[code] ?? 400;
  if (status !== 405) return status;
  return rawPacket && SOME_METHOD.test(rawPacket.toString("latin1", 0, 16_384)) ? 405 : 400;
}

/**
 * Responds to an invalid request and closes the connection, because the start of the next request
 * is unknown.
 * @param underWay the last response on this connection. If it has started, no error response is
 * sent.
 * @returns the status that was sent; undefined if none could be sent.
 */
export function respondToClientError(err: ClientError, socket: Socket, underWay: ServerResponse | undefined): number | undefined {
  const midResponse = underWay?.headersSent === true && !underWay.writableFinished;
  if (err.code === "ECONNRESET" || !socket.writable || midResponse) {
    socket.destroy();
    return undefined;
  }
  const status = clientErrorStatus(err);
  socket.end(formatRawResponse(status), () => socket.destroy());
  return status;
}

/** Returns a complete response for a connection without a parsed request. */
export function formatRawResponse(status: number, text = `${status} ${REASONS[status] ?? ""}`): string {
  const body = status === 405 ? "Method Not Allowed\n" : `${text}\n`;
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? "Not Found"}`,
    "Content-Type: text/plain; charset=utf-8",
    "X-Content-Type-Options: nosniff",
    "Vary: Accept-Encoding",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}
