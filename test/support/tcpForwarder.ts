import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";
import { Transform } from "node:stream";

/** Forwards connections to a server, until it is interrupted, as if the server went away. */
export class TcpForwarder implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isAway = false;
  #rejected = 0;
  /** Time that each piece of data waits, in both directions. */
  #delayMs = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param target such as https://127.0.0.1:6443 */
  static async start(target: string): Promise<TcpForwarder> {
    const { hostname, port } = new URL(target);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const forwarder = new TcpForwarder(server);
    server.on("connection", (socket) => forwarder.#accept(socket, () => connect(Number(port), hostname)));
    return forwarder;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Number of connections that were closed at once since `interrupt`. */
  get rejected(): number {
    return this.#rejected;
  }

  /** Breaks all connections, and closes new ones at once. */
  interrupt(): void {
    this.#isAway = true;
    this.#rejected = 0;
    for (const socket of this.#sockets) socket.destroy();
  }

  resume(): void {
    this.#isAway = false;
  }

  /** Delays each piece of data by this time, at most 64 KiB each, which also limits the throughput; 0 ends it. */
  slowDown(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  #accept(socket: Socket, open: () => Socket): void {
    if (this.#isAway) {
      this.#rejected++;
      socket.destroy();
      return;
    }
    const upstream = open();
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(this.#pace()).pipe(other);
    }
  }

  #pace(): Transform {
    return new Transform({
      transform: (data, _encoding, done) => {
        if (this.#delayMs === 0) done(null, data);
        else setTimeout(() => done(null, data), this.#delayMs);
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.interrupt();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
