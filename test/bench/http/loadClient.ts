import type { LoadOrder, LoadResult } from "./load.ts";
import { RawConnection } from "./rawConnection.ts";

/** Counts responses on all connections. Reset by each measurement. */
class Tally {
  #answers = 0;
  #bodyBytes = 0;
  readonly #statuses = new Map<string, number>();
  #encoding = "";
  #answerBytes = 0;

  headers(status: string, contentEncoding: string, contentLength: number): void {
    this.#answerBytes = contentLength;
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    this.#encoding = contentEncoding;
  }

  body(bytes: number): void {
    this.#bodyBytes += bytes;
  }

  end(): void {
    this.#answers++;
  }

  failed(err: Error): void {
    throw err;
  }

  /** Counts the responses that arrive within this time. */
  async during(seconds: number): Promise<LoadResult> {
    this.#answers = 0;
    this.#bodyBytes = 0;
    this.#statuses.clear();
    const cpu = process.cpuUsage();
    const started = performance.now();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    const used = process.cpuUsage(cpu);
    return {
      seconds: (performance.now() - started) / 1_000,
      answers: this.#answers,
      bodyBytes: this.#bodyBytes,
      answerBytes: this.#answerBytes,
      statuses: Object.fromEntries(this.#statuses),
      encoding: this.#encoding,
      clientCpuSeconds: (used.user + used.system) / 1e6,
    };
  }
}

/** Reads a LoadOrder from the argument, sends requests for its duration and prints the LoadResult. */
const { url, headers, connections, seconds, warmUpSeconds, ca } = JSON.parse(process.argv[2] ?? "") as LoadOrder;
const tally = new Tally();
for (let i = 0; i < connections; i++) new RawConnection({ url: new URL(url), headers, ca }, tally).start();
await tally.during(warmUpSeconds);
console.log(JSON.stringify(await tally.during(seconds)));
process.exit(0);
