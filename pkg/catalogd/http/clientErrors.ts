import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Status lines as Go has them. */
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
/** How a request line begins whose method only the parser does not know. */
const SOME_METHOD = /^[!#$%&'*+.^_`|~\w-]{1,64} \/\S* HTTP\/1\.[01]\r?\n/;

/** An error of Node's parser, or of the connection. */
export interface ClientError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

/** The status that tells a client why its request was not read. */
function clientErrorStatus({ code = "", rawPacket }: ClientError): number {
  const status = STATUS[code] ?? 400;
  if (status !== 405) return status;
  return rawPacket && SOME_METHOD.test(rawPacket.toString("latin1", 0, 16_384)) ? 405 : 400;
}

/**
 * Answers what is no request and closes the connection: what follows on it cannot be told apart from what came before.
 * @param underWay the last answer on this connection; once it has begun nothing may come between.
 * @returns the status that was sent; undefined when nothing could be.
 */
export function respondToClientError(err: ClientError, socket: Socket, underWay: ServerResponse | undefined): number | undefined {
  const midResponse = underWay?.headersSent === true && !underWay.writableFinished;
  if (err.code === "ECONNRESET" || !socket.writable || midResponse) {
    socket.destroy();
    return undefined;
  }
  const status = clientErrorStatus(err);
  socket.end(rawResponse(status), () => socket.destroy());
  return status;
}

/** A whole answer for a connection without a request. */
export function rawResponse(status: number, text = `${status} ${REASONS[status] ?? ""}`): string {
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
