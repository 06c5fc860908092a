import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

/** Forwards connections to a server, until it is interrupted, as if the server went away. */
export class TcpForwarder implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isAway = false;
  #rejected = 0;

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
      one.pipe(other);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.interrupt();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
