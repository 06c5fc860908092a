import { API_VERSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { Informer, withoutBulk } from "../../pkg/controller/informer.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";

/** Watches objects of one kind, so that waiting costs no requests and ends within milliseconds. */
export class Observer<T extends KubeObject> implements AsyncDisposable {
  readonly #kind: string;
  readonly #informer: Informer<T>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #changed: () => void = () => undefined;

  private constructor(client: Client, kind: string) {
    this.#kind = kind;
    const log = createLogger({ component: "bench", level: "silent" });
    this.#informer = new Informer<T>(client, { apiVersion: API_VERSION, kind }, { transform: withoutBulk }, log);
    this.#informer.onEvent(() => this.#changed());
    this.#running = this.#informer.run(this.#stop.signal);
  }

  /** Resolves when all existing objects are known. */
  static async start<T extends KubeObject>(client: Client, kind: "ClusterCatalog" | "ClusterExtension"): Promise<Observer<T>> {
    const observer = new Observer<T>(client, kind);
    await observer.#informer.synced;
    return observer;
  }

  get(name: string): T | undefined {
    return this.#informer.get(name);
  }

  /**
   * Calls `act` and waits until the objects satisfy `holds` after an event; `holds` must be false before. Supports one wait at a time.
   * @returns seconds from the start of `act` until then.
   * @throws Error with the objects' conditions after a timeout.
   */
  async secondsUntil(act: () => Promise<unknown>, holds: () => boolean, timeoutMs: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const started = performance.now();
    const timer = setTimeout(() => reject(new Error(`timed out after ${timeoutMs / 1_000} s; ${this.#describe()}`)), timeoutMs);
    this.#changed = () => {
      if (holds()) resolve((performance.now() - started) / 1_000);
    };
    try {
      const [seconds] = await Promise.all([promise, act()]);
      return seconds;
    } finally {
      clearTimeout(timer);
      this.#changed = () => undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #describe(): string {
    const objects = this.#informer.list().map(({ metadata, ...object }) => {
      const { conditions } = (object["status"] ?? {}) as { conditions?: unknown };
      return `${metadata.name}: ${JSON.stringify(conditions)}`;
    });
    return `${objects.length} × ${this.#kind}: ${objects.join("; ").slice(0, 4_000)}`;
  }
}
