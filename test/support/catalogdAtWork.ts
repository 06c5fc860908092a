import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import type { Condition } from "../../pkg/api/k8s.ts";
import { CatalogController, getCacheFolders } from "../../pkg/catalogd/catalogController.ts";
import { CatalogStore } from "../../pkg/catalogd/catalogStore.ts";
import { removeTree } from "../../pkg/oci/pull/cache.ts";
import { Puller, type PullerOptions } from "../../pkg/oci/pull/puller.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics } from "../../pkg/telemetry/metrics.ts";
import { eventually, type TestCluster } from "./cluster.ts";
import { QUICK } from "./pulling.ts";

const CATALOG = { apiVersion: API_VERSION, kind: "ClusterCatalog" } as const;

/** catalogd's controller and store in this process, with short timeouts. It watches the whole cluster. */
export class CatalogdAtWork implements AsyncDisposable {
  readonly store: CatalogStore;
  readonly controller: CatalogController;
  readonly metrics = createMetrics("catalogd");
  readonly logged: string[] = [];
  readonly #cluster: TestCluster;
  readonly #dir: string;
  readonly #puller: Puller;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(cluster: TestCluster, dir: string, store: CatalogStore, options: Partial<PullerOptions>) {
    const log = createLogger({ component: "catalogd", level: "debug", destination: { write: (line) => this.logged.push(line) } });
    const { unpack } = getCacheFolders(dir);
    this.#cluster = cluster;
    this.#dir = dir;
    this.store = store;
    const files = { registriesConf: join(dir, "registries.conf"), signaturePolicy: { file: join(dir, "policy.json") } };
    this.#puller = new Puller({ cacheDir: unpack, limits: QUICK, log, env: {}, ...files, ...options });
    this.controller = new CatalogController({
      client: cluster.client,
      leaderClient: cluster.client,
      stepDown: () => undefined,
      puller: this.#puller,
      store,
      unpackDir: unpack,
      externalUrl: "http://catalogd",
      gcIntervalMs: 3_600_000,
      log,
      metrics: this.metrics,
    });
    const { signal } = this.#stop;
    this.#running = Promise.all([this.controller.run(signal), this.controller.lead(signal)]).then(() => undefined);
  }

  /** @param registriesConf text of the file. */
  static async start(cluster: TestCluster, registriesConf: string, options: Partial<PullerOptions> = {}): Promise<CatalogdAtWork> {
    const dir = await mkdtemp(join(tmpdir(), "olmv1-catalogd-"));
    await writeFile(join(dir, "registries.conf"), registriesConf);
    const log = createLogger({ component: "store", level: "silent" });
    return new CatalogdAtWork(cluster, dir, await CatalogStore.open({ dir: getCacheFolders(dir).catalogs, log }), options);
  }

  /** Applies a catalog of this image. */
  async apply(name: string, ref: string, image: { pollIntervalMinutes?: number } = {}): Promise<ClusterCatalog> {
    const object = { ...CATALOG, metadata: { name }, spec: { source: { type: "Image", image: { ref, ...image } } } };
    return (await this.#cluster.client.apply(object, { fieldManager: "test", force: true })) as ClusterCatalog;
  }

  async get(name: string): Promise<ClusterCatalog | undefined> {
    return this.#cluster.client.get<ClusterCatalog>({ ...CATALOG, name });
  }

  /** Waits until Progressing has this reason at the newest generation. @returns object and condition. */
  async progressing(name: string, reason: string, timeoutMs = 60_000): Promise<{ catalog: ClusterCatalog; condition: Condition }> {
    return eventually(
      async () => {
        const catalog = await this.get(name);
        const condition = findCondition(catalog?.status?.conditions, "Progressing");
        if (!catalog || condition?.reason !== reason || condition.observedGeneration !== catalog.metadata.generation)
          throw new Error(`${name}: ${JSON.stringify(condition)}`);
        return { catalog, condition };
      },
      { timeoutMs },
    );
  }

  /** Deletes a catalog and waits until it no longer exists. */
  async remove(name: string): Promise<void> {
    await this.#cluster.client.delete({ ...CATALOG, name });
    await eventually(async () => {
      if (await this.get(name)) throw new Error(`${name} still exists`);
    });
  }

  /** Returns the number of failed reconciles of a catalog so far, by reason. */
  async failures(name: string): Promise<Record<string, number>> {
    const lines = (await this.metrics.text()).matchAll(/^catalogd_catalog_failures_total\{catalog="([^"]*)",reason="(\w+)"\} (\d+)$/gm);
    return Object.fromEntries([...lines].filter(([, catalog]) => catalog === name).map(([, , reason, count]) => [reason, Number(count)]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.store.close();
    await this.#puller.close();
    await removeTree(this.#dir);
  }
}
