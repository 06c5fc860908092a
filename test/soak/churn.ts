import { setTimeout as sleep } from "node:timers/promises";
import { API_VERSION } from "../../pkg/api/constants.ts";
import { getErrorMessage } from "../../pkg/errors/errors.ts";
import type { BenchCluster } from "../bench/benchCluster.ts";
import type { TinyPackage } from "../bench/many/tinyPackage.ts";
import { TINY_VERSION } from "../bench/many/tinyPackage.ts";
import { TINY_CATALOG, type TinyWorld } from "../bench/many/tinyWorld.ts";
import { eventually } from "../support/eventually.ts";
import type { World } from "../support/world.ts";

/** Changes so far. */
export interface ChurnCounts {
  editions: number;
  removed: number;
  damaged: number;
  /** Changes that failed or timed out. */
  failures: string[];
}

/** Delay between two rounds. */
const REST_MS = 1_000;
const TIMEOUT_MS = 60_000;

/** Keeps both servers busy until `signal` aborts: publishes catalogs, reinstalls extensions and deletes objects. */
export class Churn {
  readonly counts: ChurnCounts = { editions: 0, removed: 0, damaged: 0, failures: [] };
  readonly #cluster: BenchCluster;
  readonly #world: World;
  readonly #tiny: TinyWorld;

  constructor(cluster: BenchCluster, world: World, tiny: TinyWorld) {
    this.#cluster = cluster;
    this.#world = world;
    this.#tiny = tiny;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { packages } = this.#tiny;
    for (let round = 0; !signal.aborted; round++) {
      const at = (offset: number): TinyPackage => packages[(round + offset) % packages.length] as TinyPackage;
      await this.#try("a new edition", () => this.#publish());
      await this.#try(`${at(0).name}, removed and installed again`, () => this.#reinstall(at(0)));
      await this.#try(`${at(1).name}, damaged`, () => this.#damage(at(1)));
      await sleep(REST_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #try(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      this.counts.failures.push(`${what}: ${getErrorMessage(err)}`);
    }
  }

  async #publish(): Promise<void> {
    const ref = await this.#tiny.pushEdition(++this.counts.editions);
    const catalog = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: TINY_CATALOG };
    await this.#cluster.client.patch(catalog, { spec: { source: { image: { ref } } } }, { type: "merge" });
  }

  async #reinstall(one: TinyPackage): Promise<void> {
    this.counts.removed++;
    await this.#world.removed("ClusterExtension", one.name);
    await this.#world.apply(one.extension());
    await this.#world.installed(one.name, TINY_VERSION);
  }

  async #damage({ name }: TinyPackage): Promise<void> {
    this.counts.damaged++;
    const object = { apiVersion: "v1", kind: "ConfigMap", namespace: name, name };
    const before = await this.#cluster.client.get(object);
    await this.#cluster.client.delete(object);
    await eventually(
      async () => {
        const uid = (await this.#cluster.client.get(object))?.metadata.uid;
        if (uid === undefined || uid === before?.metadata.uid) throw new Error(`ConfigMap ${name} was not restored`);
      },
      { timeoutMs: TIMEOUT_MS },
    );
  }
}
