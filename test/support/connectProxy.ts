import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";

/** A forward proxy on loopback that connects every requested name to one server. */
export class ConnectProxy {
  /** The targets of CONNECT requests, such as "catalogd.example.com:443", in order. */
  readonly seen: string[] = [];
  readonly #server: Server;

  private constructor(port: () => number) {
    this.#server = createServer((_, res) => res.writeHead(405).end());
    this.#server.on("connect", (req, socket) => {
      this.seen.push(req.url ?? "");
      const upstream = connect(port(), "127.0.0.1", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
      upstream.pipe(socket).pipe(upstream);
      for (const side of [upstream, socket]) side.on("error", () => [upstream, socket].forEach((one) => void one.destroy()));
    });
  }

  /** @param port of the server on loopback; called for each connection. */
  static async start(port: () => number): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(port);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Connections that are still open end with their clients. */
  stop(): void {
    this.#server.close();
  }
}
