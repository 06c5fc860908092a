import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { eventually } from "./eventually.ts";

/** One response as received, its body by Content-Length. */
export interface RawAnswer {
  status: number;
  head: string;
  body: string;
}

/** A connection on which a test writes raw bytes, valid or not. */
export class RawConnection {
  readonly socket: Socket;
  #received: Buffer[] = [];
  #error: Error | undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (bytes: Buffer) => this.#received.push(bytes));
    socket.on("error", (err) => (this.#error = err));
  }

  /** Connects to loopback. @param reading false: reads nothing until `resume`. */
  static async open(port: number, { reading = true } = {}): Promise<RawConnection> {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    await once(socket, "connect");
    const connection = new RawConnection(socket);
    if (!reading) socket.pause();
    return connection;
  }

  write(text: string | Buffer): this {
    this.socket.write(text);
    return this;
  }

  /** Returns all received bytes so far, as text. */
  get text(): string {
    return Buffer.concat(this.#received).toString("latin1");
  }

  get bytes(): number {
    return this.#received.reduce((sum, { length }) => sum + length, 0);
  }

  /** Whether the peer has closed or reset the connection. */
  get ended(): boolean {
    return this.socket.readableEnded || this.socket.destroyed || this.#error !== undefined;
  }

  /** Returns the responses that arrived completely. */
  get answers(): RawAnswer[] {
    const answers: RawAnswer[] = [];
    let rest = this.text;
    for (;;) {
      const end = rest.indexOf("\r\n\r\n");
      if (end < 0) return answers;
      const head = rest.slice(0, end);
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
      const length = status === 100 ? 0 : Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      if (rest.length < end + 4 + length) return answers;
      answers.push({ status, head, body: rest.slice(end + 4, end + 4 + length) });
      rest = rest.slice(end + 4 + length);
    }
  }

  /** Waits for a number of responses. */
  async answered(count = 1): Promise<RawAnswer[]> {
    await eventually(() => {
      if (this.answers.length < count) throw new Error(`${this.answers.length} of ${count} answers: ${this.text.slice(0, 500)}`);
    });
    return this.answers;
  }

  /** Waits until the peer closes the connection. */
  async closed(timeoutMs = 15_000): Promise<RawAnswer[]> {
    await eventually(
      () => {
        if (!this.ended) throw new Error(`the connection is open: ${this.text.slice(0, 500)}`);
      },
      { timeoutMs },
    );
    return this.answers;
  }

  close(): void {
    this.socket.destroy();
  }
}
