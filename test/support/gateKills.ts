import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { getControllerSubject } from "../../pkg/rbac/installerManifests.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { FaultProxy, type SentRequest } from "./faultProxy.ts";
import { GateWorld } from "./gateWorld.ts";
import { KillPoint } from "./killPoint.ts";
import { isSampled, type KillSample } from "./killSample.ts";
import { buildProxyKubeconfig } from "./killWorld.ts";
import { type Replica, Replicas, readyz } from "./replicas.ts";
import type { SmallPackage } from "./smallPackage.ts";
import { TempFolder } from "./tempFolder.ts";
import { UpgradeableWatch } from "./upgradeableWatch.ts";

/** Short, so that the other replica soon continues. */
const ELECTION = ["--leader-election-lease-duration=5s", "--leader-election-renew-deadline=4s", "--leader-election-retry-period=1s"];
/** The clocks of the replicas, in milliseconds from the real time. */
const SKEWS_MS = [-10_800_000, 10_800_000];
const EXTENSION = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION } as const;
const LEADER_LINE = "leader ok: this process leads";
/** Upper bound of the writes of one operation. */
const MAX_WRITES = 20;

/** Number of leaders that were killed during each operation. */
export interface GateKills {
  install: number;
  uninstall: number;
}

/** Two replicas of operator-controller with different clocks, on an OpenShift-like cluster. */
export class GateKillWorld implements AsyncDisposable {
  readonly watch: UpgradeableWatch;
  readonly #client: Client;
  readonly #held: SmallPackage;
  readonly #gate: GateWorld;
  readonly #replicas: Replicas;
  readonly #proxy: FaultProxy;
  readonly #folder: TempFolder;
  #started = 0;

  private constructor(parts: {
    client: Client;
    held: SmallPackage;
    gate: GateWorld;
    replicas: Replicas;
    proxy: FaultProxy;
    folder: TempFolder;
    watch: UpgradeableWatch;
  }) {
    this.#client = parts.client;
    this.#held = parts.held;
    this.#gate = parts.gate;
    this.#replicas = parts.replicas;
    this.#proxy = parts.proxy;
    this.#folder = parts.folder;
    this.watch = parts.watch;
  }

  /** @param held a package with one version that does not support the next minor version */
  static async start(cluster: TestCluster, held: SmallPackage): Promise<GateKillWorld> {
    const gate = await GateWorld.start(cluster, { version: "4.18.0", packages: [held] });
    await gate.world.installation.servers["operator-controller"].stop();
    const folder = new TempFolder();
    const proxy = await FaultProxy.start(cluster.server);
    const kubeconfig = join(folder.path, "kubeconfig");
    writeFileSync(kubeconfig, buildProxyKubeconfig(proxy));
    const { client, registry } = cluster;
    const auditEvents = (): ReturnType<TestCluster["auditEvents"]> => cluster.auditEvents();
    const replicas = await Replicas.start({ client, registry, kubeconfig, auditEvents }, "operator-controller");
    const watch = await UpgradeableWatch.start(cluster.client);
    const world = new GateKillWorld({ client, held, gate, replicas, proxy, folder, watch });
    for (const _ of SKEWS_MS) await world.#add();
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.watch[Symbol.asyncDispose]();
    await this.#replicas.stop();
    await this.#gate.world.stop();
    await this.#proxy[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }

  /** Kills the leader at the points of the sample, in an installation and an uninstallation, until each is complete without a kill. */
  async killAtWrites(sample: KillSample): Promise<GateKills> {
    const kills: GateKills = { install: 0, uninstall: 0 };
    for (let writes = 0, isKilled = true; isKilled && writes < MAX_WRITES; writes++) {
      if (!isSampled(sample, writes)) continue;
      const isInstallKilled = await this.#killDuring(
        writes,
        () => this.#gate.ask(this.#held, "1.0.0"),
        () => this.#isDone("1.0.0", "False"),
      );
      const isUninstallKilled = await this.#killDuring(
        writes,
        () => this.#client.delete({ ...EXTENSION, name: this.#held.name }),
        () => this.#isDone(undefined, "True"),
      );
      if (isInstallKilled) kills.install++;
      if (isUninstallKilled) kills.uninstall++;
      isKilled = isInstallKilled || isUninstallKilled;
    }
    return kills;
  }

  /** Whether this version is installed, and condition Upgradeable has this status. */
  async #isDone(version: string | undefined, upgradeable: string): Promise<boolean> {
    const extension = await this.#client.get<ClusterExtension>({ ...EXTENSION, name: this.#held.name });
    const { install, conditions } = extension?.status ?? {};
    const isReady = extension === undefined || findCondition(conditions, "Ready")?.status === "True";
    return isReady && install?.bundle.version === version && (await this.#gate.openShift.condition("Upgradeable"))?.status === upgradeable;
  }

  /** @returns whether the operation had a next write, so that the leader was killed */
  async #killDuring(writes: number, run: () => Promise<unknown>, isDone: () => Promise<boolean>): Promise<boolean> {
    const leader = await this.#findLeader();
    const point = new KillPoint(this.#proxy, writes, (request) => this.#isCounted(request));
    const complete = (): Promise<void> =>
      eventually(async () => {
        if (!(await isDone())) throw new Error(`the operation is not complete; the leader was stopped after ${writes} writes`);
      });
    try {
      await run();
      await eventually(async () => {
        if (point.isReached) return point.settled;
        if (!(await isDone())) throw new Error(`the operation is not complete after ${writes} writes`);
        return undefined;
      });
      if (!point.isReached) return false;
      process.kill(leader.process.pid ?? 0, "SIGKILL");
      await eventually(() => {
        if (leader.process.ended === undefined) throw new Error("the leader is still running");
      });
    } finally {
      point.drop();
    }
    await this.#add();
    await complete();
    return true;
  }

  #isCounted({ user, resource }: SentRequest): boolean {
    const account = this.#held.extension();
    const users = [getControllerSubject(SYSTEM_NAMESPACE).name, `:${getNamespace(account)}:${account.spec.serviceAccount?.name ?? ""}`];
    return resource !== "leases" && users.some((suffix) => user.endsWith(suffix));
  }

  /** Starts a replica with the next clock. */
  async #add(): Promise<void> {
    const at = this.#started++;
    const file = join(this.#folder.path, `clock-${at}.mjs`);
    writeFileSync(file, formatSkewedClock(SKEWS_MS[at % SKEWS_MS.length] ?? 0));
    const env = { NODE_OPTIONS: `--import ${file}` };
    const replica = await this.#replicas.add(`gate-${at}`, ["--max-backoff=1s", ...ELECTION], { env });
    await this.#replicas.ready(replica);
  }

  async #findLeader(): Promise<Replica> {
    return eventually(async () => {
      for (const replica of this.#replicas.running) if ((await readyz(replica)).text.includes(LEADER_LINE)) return replica;
      throw new Error("no replica leads");
    });
  }
}

/** Returns a module that moves the clock of a program. */
function formatSkewedClock(byMs: number): string {
  return `const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + ${byMs}] : args));
  }
  static now() {
    return RealDate.now() + ${byMs};
  }
};
`;
}
