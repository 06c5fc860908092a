import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { createPartner, serveCommunity, serveTeam } from "./consoleWorld/catalogs.ts";
import { EXTENSIONS, type SeededState } from "./consoleWorld/extensions.ts";
import { Seed } from "./consoleWorld/seed.ts";
import { World, type WorldCluster } from "./world.ts";

/** Flags that shorten waits, so that states are reached soon and repairs show at once. */
const FLAGS = { "operator-controller": ["--max-backoff", "10s"] };

/** A control plane with all programs, three catalogs, and an extension in each state that the console shows. */
export class ConsoleWorld implements AsyncDisposable {
  readonly world: World;
  readonly systemNamespace = SYSTEM_NAMESPACE;
  /** Names of the ClusterExtensions by their state. */
  readonly names: Readonly<Record<SeededState, string>>;

  private constructor(world: World) {
    this.world = world;
    this.names = Object.fromEntries(Object.entries(EXTENSIONS).map(([state, { name }]) => [state, name])) as Record<SeededState, string>;
  }

  /** Starts the programs, creates catalogs and extensions, and waits until each is in its state. @throws AggregateError with all failures. */
  static async start(cluster: WorldCluster): Promise<ConsoleWorld> {
    const started = new ConsoleWorld(await World.start(cluster, { extraArgs: FLAGS }));
    try {
      await started.#seed();
      return started;
    } catch (err) {
      await started.world.stop();
      throw err;
    }
  }

  async #seed(): Promise<void> {
    const seed = new Seed(this.world);
    await all([serveCommunity(this.world), serveTeam(this.world), createPartner(this.world)]);
    await all(Object.values(EXTENSIONS).map(({ name, seed: create }) => create(seed, name)));
  }

  /** The administrator. */
  get client(): Client {
    return this.world.cluster.client;
  }

  /** Path of the administrator's kubeconfig. */
  get kubeconfig(): string {
    return this.world.cluster.kubeconfig;
  }

  /** Base URL of catalogd. */
  get catalogs(): string {
    return this.world.installation.catalogs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world.stop();
  }
}

/** Waits for all. @throws AggregateError with every failure. */
async function all(work: readonly Promise<void>[]): Promise<void> {
  const failures = (await Promise.allSettled(work)).flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("\n"));
}
