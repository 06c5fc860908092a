import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** Receives the responses of a connection. */
export interface AnswerSink {
  headers(status: string, contentEncoding: string, contentLength: number): void;
  body(bytes: number): void;
  end(): void;
  failed(err: Error): void;
}

/** The request that is repeated. */
export interface RawRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly ca?: string | undefined;
}

const BUFFER_BYTES = 64 * 1024;
const HEAD_END = Buffer.from("\r\n\r\n");

/**
 * A connection that repeats one request and discards the responses, with the least possible overhead in Node.js: one
 * buffer, and only status and length are parsed. Supports only responses with Content-Length, and 304.
 */
export class RawConnection {
  readonly #socket: Socket;
  readonly #request: string;
  readonly #sink: AnswerSink;
  #head: Buffer = Buffer.alloc(0);
  /** Remaining bytes of the body; undefined while the head is incomplete. */
  #left: number | undefined;

  constructor({ url, headers, ca }: RawRequest, sink: AnswerSink) {
    this.#sink = sink;
    const lines = Object.entries({ host: url.host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#request = `GET ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n`;
    const onread = {
      buffer: Buffer.allocUnsafeSlow(BUFFER_BYTES),
      callback: (count: number, bytes: Uint8Array) => this.#take(count, bytes),
    };
    const at = { host: url.hostname, port: Number(url.port), onread };
    this.#socket = url.protocol === "https:" ? connectTls({ ...at, ...(ca === undefined ? {} : { ca }) }) : connectPlain(at);
    this.#socket.once("error", (err) => sink.failed(err));
    this.#socket.once("end", () => sink.failed(new Error("the server closed the connection")));
    this.#socket.setNoDelay(true);
  }

  /** Sends the first request. Each response is followed by the next request, until the process ends. */
  start(): void {
    this.#send();
  }

  #send(): void {
    this.#left = undefined;
    this.#socket.write(this.#request);
  }

  #take(count: number, buffer: Uint8Array): boolean {
    if (this.#left === undefined) this.#takeHead(Buffer.from(buffer.subarray(0, count)));
    else this.#takeBody(count);
    return true;
  }

  #takeHead(bytes: Buffer): void {
    this.#head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes]);
    const end = this.#head.indexOf(HEAD_END);
    if (end < 0) return;
    const head = this.#head.toString("latin1", 0, end);
    const after = this.#head.length - end - HEAD_END.length;
    this.#head = Buffer.alloc(0);
    const status = head.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
    const length = status === "304" ? "0" : /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) {
      this.#sink.failed(new Error(`a response without content-length: ${head.slice(0, 200)}`));
      return;
    }
    this.#left = Number(length);
    this.#sink.headers(status, /\r\ncontent-encoding: *(\S+)/i.exec(head)?.[1] ?? "identity", this.#left);
    this.#takeBody(after);
  }

  #takeBody(count: number): void {
    this.#sink.body(count);
    this.#left = (this.#left ?? 0) - count;
    if (this.#left > 0) return;
    this.#sink.end();
    this.#send();
  }
}
