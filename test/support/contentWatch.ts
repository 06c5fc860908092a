import { createHash } from "node:crypto";

/** Fetches the lines of a catalog: of one package, or of all. */
export type LinesOf = (packageName: string | undefined) => string;

const PACKAGES = [undefined, "p0", "p1"] as const;
const ENCODINGS = ["identity", "gzip", "zstd"] as const;

/** Requests a catalog repeatedly, and compares every complete response with the permitted contents. */
export class ContentWatch {
  /** Complete responses so far, by the number of their content. */
  readonly seen = new Map<number, number>();
  /** Violations: responses with unknown content, and responses other than 200. */
  readonly wrong: string[] = [];
  readonly #base: string;
  readonly #allowed: ReadonlyMap<string, number>;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  /** @param contents the permitted contents; each with lines of packages p0 and p1. */
  constructor(base: string, contents: readonly LinesOf[]) {
    this.#base = base;
    this.#allowed = new Map(
      contents.flatMap((linesOf, i) => PACKAGES.map((name) => [buildKey(name, Buffer.from(linesOf(name))), i] as const)),
    );
    this.#running = Promise.all(PACKAGES.flatMap((name) => ENCODINGS.map((encoding) => this.#ask(name, encoding))));
  }

  /** Returns the number of the content that is served now. @throws Error if it is unknown. */
  async current(): Promise<number> {
    const answer = await fetch(this.#url(undefined), { headers: { "accept-encoding": "identity" } });
    const found = this.#allowed.get(buildKey(undefined, Buffer.from(await answer.arrayBuffer())));
    if (found === undefined) throw new Error(`status ${answer.status}`);
    return found;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #url(packageName: string | undefined): string {
    return `${this.#base}/api/v1/${packageName === undefined ? "all" : `metas?package=${packageName}`}`;
  }

  async #ask(packageName: string | undefined, encoding: string): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const answer = await fetch(this.#url(packageName), { headers: { "accept-encoding": encoding }, signal });
        this.#look(packageName, encoding, answer.status, Buffer.from(await answer.arrayBuffer()));
      } catch {
        // Requests fail, or their responses are truncated, while the program is killed.
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  #look(packageName: string | undefined, encoding: string, status: number, body: Buffer): void {
    const content = this.#allowed.get(buildKey(packageName, body));
    if (status !== 200 || content === undefined) this.wrong.push(`${packageName} ${encoding}: status ${status}, ${body.length} bytes`);
    else this.seen.set(content, (this.seen.get(content) ?? 0) + 1);
  }
}

function buildKey(packageName: string | undefined, bytes: Buffer): string {
  return `${packageName ?? "all"} ${createHash("sha256").update(bytes).digest("hex")}`;
}
