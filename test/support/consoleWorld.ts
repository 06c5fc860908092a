import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { seedCanary, serveHostile } from "./consoleWorld/canary.ts";
import { createPartner, serveCommunity, serveTeam } from "./consoleWorld/catalogs.ts";
import { EXTENSIONS, type SeededState } from "./consoleWorld/extensions.ts";
import { readSimulatedLog } from "./consoleWorld/podLogs.ts";
import { Seed } from "./consoleWorld/seed.ts";
import { createSynthetic } from "./consoleWorld/syntheticExtensions.ts";
import { SimulatedNode } from "./simulatedNode.ts";
import { World, type WorldCluster } from "./world.ts";

/** Flags that shorten waits, so that states are reached soon and repairs show at once. */
const FLAGS = { "operator-controller": ["--max-backoff", "10s"] };

/** Options of a world. */
export interface ConsoleWorldOptions {
  /** True to add a catalog and an extension with hostile texts. */
  readonly canary?: boolean;
  /** Number of additional extensions that no controller reconciles. Other than 0 stops operator-controller and permission-manager. */
  readonly extensions?: number;
}

/** A control plane with all programs, three catalogs, and an extension in each state that the console shows. */
export class ConsoleWorld implements AsyncDisposable {
  readonly world: World;
  readonly systemNamespace = SYSTEM_NAMESPACE;
  /** Names of the ClusterExtensions by their state. */
  readonly names: Readonly<Record<SeededState, string>>;

  readonly #node: SimulatedNode;

  private constructor(world: World, node: SimulatedNode) {
    this.world = world;
    this.#node = node;
    this.names = Object.fromEntries(Object.entries(EXTENSIONS).map(([state, { name }]) => [state, name])) as Record<SeededState, string>;
  }

  /** Starts the programs, creates catalogs and extensions, and waits until each is in its state. @throws AggregateError with all failures. */
  static async start(cluster: WorldCluster, { canary = false, extensions = 0 }: ConsoleWorldOptions = {}): Promise<ConsoleWorld> {
    await using resources = new AsyncDisposableStack();
    const node = resources.use(await SimulatedNode.start(cluster.client, readSimulatedLog));
    const world = await World.start(cluster, { extraArgs: FLAGS });
    resources.defer(() => world.stop());
    const started = new ConsoleWorld(world, node);
    await started.#seed(canary);
    if (extensions > 0) await createSynthetic(world, extensions);
    resources.move();
    return started;
  }

  async #seed(canary: boolean): Promise<void> {
    const seed = new Seed(this.world);
    const hostile = canary ? serveHostile(seed).then(() => seedCanary(seed)) : Promise.resolve();
    const regular = this.#seedRegular(seed);
    await all([hostile, regular]);
  }

  async #seedRegular(seed: Seed): Promise<void> {
    await all([serveCommunity(this.world), serveTeam(this.world), createPartner(this.world)]);
    await all(Object.values(EXTENSIONS).map((extension) => extension.seed(seed, extension.name)));
  }

  /** The administrator. */
  get client(): Client {
    return this.world.cluster.client;
  }

  /** Path of the administrator's kubeconfig. */
  get kubeconfig(): string {
    return this.world.cluster.kubeconfig;
  }

  /** Path of the registries.conf that maps the images of the world to its registry. */
  get registriesConf(): string {
    return this.world.registriesConf;
  }

  /** Base URL of catalogd. */
  get catalogs(): string {
    return this.world.installation.catalogs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world.stop();
    await this.#node[Symbol.asyncDispose]();
  }
}

/** Waits for all. @throws AggregateError with every failure. */
async function all(work: readonly Promise<void>[]): Promise<void> {
  const failures = (await Promise.allSettled(work)).flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("\n"));
}
