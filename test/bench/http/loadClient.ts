import http from "node:http";
import https from "node:https";
import type { LoadOrder, LoadResult } from "./loadOrder.ts";

/** The program: reads a LoadOrder from its argument, sends requests for as long as it says, prints the LoadResult. */
async function main(): Promise<void> {
  const order = JSON.parse(process.argv[2] ?? "") as LoadOrder;
  const load = new Load(order);
  await load.during(order.warmUpSeconds);
  console.log(JSON.stringify(await load.during(order.seconds)));
  process.exit(0);
}

/** Keeps `connections` requests under way. */
class Load {
  readonly #order: LoadOrder;
  readonly #agent: http.Agent;
  #answers = 0;
  #bodyBytes = 0;
  #statuses: Record<string, number> = {};
  #encoding = "";
  #fail: (err: Error) => void = () => undefined;

  constructor(order: LoadOrder) {
    this.#order = order;
    const options = { keepAlive: true, maxSockets: order.connections };
    this.#agent = order.url.startsWith("https:") ? new https.Agent({ ...options, ca: order.ca }) : new http.Agent(options);
    for (let i = 0; i < order.connections; i++) setImmediate(() => this.#next());
  }

  /** Counts what arrives from now on for so long. @throws Error of a connection. */
  async during(seconds: number): Promise<LoadResult> {
    this.#answers = 0;
    this.#bodyBytes = 0;
    this.#statuses = {};
    const cpu = process.cpuUsage();
    const started = performance.now();
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject;
      setTimeout(resolve, seconds * 1_000);
    });
    const used = process.cpuUsage(cpu);
    return {
      seconds: (performance.now() - started) / 1_000,
      answers: this.#answers,
      bodyBytes: this.#bodyBytes,
      statuses: this.#statuses,
      encoding: this.#encoding,
      clientCpuSeconds: (used.user + used.system) / 1e6,
    };
  }

  #next(): void {
    const { url, headers } = this.#order;
    const { get } = url.startsWith("https:") ? https : http;
    const request = get(url, { agent: this.#agent, headers }, (response) => {
      const { statusCode = 0 } = response;
      this.#statuses[statusCode] = (this.#statuses[statusCode] ?? 0) + 1;
      this.#encoding = response.headers["content-encoding"] ?? "identity";
      response.on("data", (chunk: Buffer) => {
        this.#bodyBytes += chunk.length;
      });
      response.once("end", () => {
        this.#answers++;
        this.#next();
      });
      response.once("error", this.#fail);
    });
    request.once("error", (err) => this.#fail(err));
  }
}

await main();
