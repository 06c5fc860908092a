import { NoBinariesError } from "../../pkg/devcluster/binaries.ts";
import { type DevCluster, startDevCluster } from "../../pkg/devcluster/devCluster.ts";
import type { ServerName } from "../../pkg/devcluster/installation.ts";
import { Client } from "../../pkg/kube/client.ts";
import { World } from "../support/world.ts";
import { type BenchContext, Skipped } from "./measurement.ts";

/** A control plane for one measurement. */
export class BenchCluster implements AsyncDisposable {
  readonly client: Client;
  readonly #dev: DevCluster;
  readonly programs: string;

  private constructor(dev: DevCluster, programs: string) {
    this.#dev = dev;
    this.programs = programs;
    this.client = Client.fromKubeConfig(dev.kubeconfig);
  }

  /** @throws Skipped if no control plane is available. */
  static async start({ say, programs }: Pick<BenchContext, "say" | "programs">): Promise<BenchCluster> {
    const folder = await programs();
    say("starting a control plane");
    try {
      return new BenchCluster(await startDevCluster({ print: say }), folder);
    } catch (err) {
      if (err instanceof NoBinariesError) throw new Skipped(err.message);
      throw err;
    }
  }

  get kubeconfig(): string {
    return this.#dev.kubeconfig;
  }

  get registry(): { host: string; insecure: true } {
    return { host: this.#dev.registry.host, insecure: true };
  }

  /** Path of the API server's audit log. */
  get auditLog(): string {
    return this.#dev.auditLog;
  }

  /** Starts both bundled servers with empty caches. Stop them before the cluster. */
  async startServers(extraArgs: Partial<Record<ServerName, readonly string[]>> = {}): Promise<World & AsyncDisposable> {
    const world = await World.start(this, { extraArgs });
    return Object.assign(world, { [Symbol.asyncDispose]: () => world.stop() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.#dev.stop();
  }
}
