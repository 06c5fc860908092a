import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ServerName } from "../../pkg/devcluster/installation.ts";
import { toYaml } from "../../pkg/golang/yaml.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { FaultProxy, type SentRequest } from "./faultProxy.ts";
import { KillPoint } from "./killPoint.ts";
import { ManagedWorld } from "./managedWorld.ts";
import { TempFolder } from "./tempFolder.ts";

/** An operation that a program must complete although it is killed. */
export interface KilledOperation {
  readonly name: string;
  readonly run: () => Promise<unknown>;
  /** Throws until the operation is complete. */
  readonly expectDone: () => Promise<void>;
  /** A change by a user while the program is stopped, and the state that must follow instead. */
  readonly interruption?: Pick<KilledOperation, "run" | "expectDone">;
}

/** An operation whose program is killed after a number of its writes. */
export interface KilledCase {
  readonly writes: number;
  readonly operation: KilledOperation;
  /** Whether a request belongs to the operation. */
  readonly includes: (request: SentRequest) => boolean;
}

/** All programs, each as a process, and a proxy that counts their writes. */
export class KillWorld implements AsyncDisposable {
  readonly managed: ManagedWorld;
  /** Number of killed processes. */
  kills = 0;
  readonly #proxy: FaultProxy;
  readonly #folder: TempFolder;

  private constructor(managed: ManagedWorld, proxy: FaultProxy, folder: TempFolder) {
    this.managed = managed;
    this.#proxy = proxy;
    this.#folder = folder;
  }

  static async start({ client, registry, programs, server }: TestCluster): Promise<KillWorld> {
    const folder = new TempFolder();
    const proxy = await FaultProxy.start(server);
    const kubeconfig = join(folder.path, "kubeconfig");
    await writeFile(kubeconfig, buildProxyKubeconfig(proxy));
    const flags = ["--max-backoff", "1s"];
    // A held write occupies a worker.
    const extraArgs = { "operator-controller": flags, "permission-manager": [...flags, "--max-concurrent-reconciles", "64"] };
    return new KillWorld(await ManagedWorld.start({ client, registry, programs, kubeconfig }, { extraArgs }), proxy, folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.managed[Symbol.asyncDispose]();
    await this.#proxy[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }

  /**
   * Runs operations concurrently. Stops each before its next write after its number of writes, kills the program once all are stopped or complete,
   * and starts it again.
   * @returns the operations that were stopped; the others had no next write.
   */
  async killDuring(program: ServerName, cases: readonly KilledCase[]): Promise<KilledCase[]> {
    const running = cases.map((one) => ({
      one,
      operation: one.operation,
      what: `${one.operation.name}, killed after ${one.writes} writes`,
      point: new KillPoint(this.#proxy, one.writes, one.includes),
    }));
    const reached = (): typeof running => running.filter(({ point }) => point.isReached);
    const all = (work: (each: (typeof running)[number]) => Promise<unknown>): Promise<unknown> =>
      Promise.all(running.map((each) => work(each).catch((cause: unknown) => Promise.reject(new Error(each.what, { cause })))));
    try {
      await all(async ({ operation, point }) => {
        await operation.run();
        await eventually(() => (point.isReached ? point.settled : operation.expectDone()));
      });
      if (reached().length > 0) await this.#kill(program);
    } finally {
      for (const { point } of running) point.drop();
    }
    const stopped = reached().map(({ one }) => one);
    await all(async ({ operation }) => operation.interruption?.run());
    if (stopped.length > 0) await this.managed.world.installation.restart(program);
    await all(({ operation }) => eventually(() => (operation.interruption ?? operation).expectDone()));
    return stopped;
  }

  async #kill(program: ServerName): Promise<void> {
    const server = this.managed.world.installation.servers[program];
    process.kill(server.pid ?? 0, "SIGKILL");
    await eventually(
      () => {
        if (server.ended === undefined) throw new Error(`${program} is still running`);
      },
      { intervalMs: 10 },
    );
    this.kills++;
    this.managed.world.unexpectedEnds.pop();
  }
}

/** Builds a kubeconfig for the proxy. @param user how clients authenticate; default: clients add a token themselves */
export function buildProxyKubeconfig({ url, ca }: FaultProxy, user: { token?: string } = {}): string {
  return toYaml({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "proxy",
    contexts: [{ name: "proxy", context: { cluster: "proxy", user: "nobody" } }],
    clusters: [{ name: "proxy", cluster: { server: url, "certificate-authority-data": Buffer.from(ca).toString("base64") } }],
    users: [{ name: "nobody", user }],
  });
}
