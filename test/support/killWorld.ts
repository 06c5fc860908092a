import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { toYaml } from "../../pkg/golang/yaml.ts";
import { getControllerSubject } from "../../pkg/rbac/installerManifests.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { createExtension } from "./extensions.ts";
import { expectGone, expectInstalled, type FaultVersion, faultBundle, faultObjects } from "./faultBundle.ts";
import { FaultProxy } from "./faultProxy.ts";
import { KillPoint } from "./killPoint.ts";
import { grantInstaller } from "./serviceAccounts.ts";
import { TempFolder } from "./tempFolder.ts";
import { World } from "./world.ts";

const VERSIONS: readonly FaultVersion[] = ["1.0.0", "2.0.0"];
const PACKAGE = "p";
const NAME = "killed";
const EXTENSION = createExtension(NAME, { packageName: PACKAGE });
/** Users whose writes are counted: operator-controller's own identity and the installer. */
const USERS = [getControllerSubject(SYSTEM_NAMESPACE).name, `:${getNamespace(EXTENSION)}:${EXTENSION.spec.serviceAccount?.name ?? ""}`];

/** All programs, each as a process, with one small extension, and a proxy that counts the writes of operator-controller. */
export class KillWorld implements AsyncDisposable {
  readonly #cluster: TestCluster;
  readonly #proxy: FaultProxy;
  readonly #world: World;
  readonly #folder: TempFolder;
  #x: ClusterExtension = EXTENSION;

  private constructor(cluster: TestCluster, proxy: FaultProxy, world: World, folder: TempFolder) {
    this.#cluster = cluster;
    this.#proxy = proxy;
    this.#world = world;
    this.#folder = folder;
  }

  static async start(cluster: TestCluster): Promise<KillWorld> {
    const folder = new TempFolder();
    const proxy = await FaultProxy.start(cluster.server);
    const kubeconfig = join(folder.path, "kubeconfig");
    await writeFile(kubeconfig, buildKubeconfig(proxy));
    const { client, registry, programs } = cluster;
    const world = await World.start(
      { client, registry, programs, kubeconfig },
      { extraArgs: { "operator-controller": ["--max-backoff", "1s"] } },
    );
    const killWorld = new KillWorld(cluster, proxy, world, folder);
    await killWorld.#serve();
    const objects = VERSIONS.flatMap((version) => faultObjects(version, getNamespace(EXTENSION)));
    await grantInstaller(client, killWorld.#x, objects);
    return killWorld;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world.stop();
    await this.#proxy[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }

  async install(): Promise<void> {
    this.#x = await this.#cluster.client.create(createExtension(NAME, { packageName: PACKAGE, version: "1.0.0" }));
  }

  async upgrade(): Promise<void> {
    const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: NAME };
    await this.#cluster.client.patch(ref, { spec: { source: { catalog: { version: "2.0.0" } } } }, { type: "merge" });
  }

  async uninstall(): Promise<void> {
    await this.#cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: NAME });
  }

  /** @throws Error unless the extension is completely at that version, with exactly these releases. */
  expectInstalled(version: FaultVersion, releases: readonly string[]): Promise<void> {
    return expectInstalled(this.#cluster.client, this.#x, version, releases);
  }

  /** @throws Error unless no object of the extension is left. */
  expectGone(): Promise<void> {
    return expectGone(this.#cluster.client, this.#x);
  }

  /**
   * Runs `work`, kills operator-controller after a number of its writes, and starts it again.
   * @param done throws until the work is done, by the killed or the new process.
   * @returns whether there were that many writes.
   */
  async killedAfter(writes: number, work: () => Promise<void>, done: () => Promise<void>): Promise<boolean> {
    const point = new KillPoint(this.#proxy, writes, USERS);
    try {
      await work();
      await eventually(() => (point.isReached ? undefined : done()));
      if (!point.isReached) return false;
      await point.settled;
      await this.#kill();
    } finally {
      point.drop();
    }
    await this.#world.installation.restart("operator-controller");
    await eventually(done);
    return true;
  }

  async #kill(): Promise<void> {
    const server = this.#world.installation.servers["operator-controller"];
    process.kill(server.pid ?? 0, "SIGKILL");
    await eventually(
      () => {
        if (server.ended === undefined) throw new Error("operator-controller is still running");
      },
      { intervalMs: 10 },
    );
    this.#world.unexpectedEnds.pop();
  }

  async #serve(): Promise<void> {
    const bundles: object[] = [];
    for (const version of VERSIONS) {
      const files = new Map(Object.entries(faultBundle(version)).map(([path, text]) => [path, Buffer.from(text)]));
      const image = await this.#world.pushBundle("bundles/p", `v${version}`, PACKAGE, files);
      const properties = [{ type: "olm.package", value: { packageName: PACKAGE, version } }];
      bundles.push({ schema: "olm.bundle", package: PACKAGE, name: `p.v${version}`, image, properties });
    }
    const entries = [{ name: "p.v1.0.0" }, { name: "p.v2.0.0", replaces: "p.v1.0.0" }];
    const metas = [
      { schema: "olm.package", name: PACKAGE, defaultChannel: "stable" },
      { schema: "olm.channel", package: PACKAGE, name: "stable", entries },
      ...bundles,
    ];
    const text = metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
    await this.#world.pushCatalog("catalogs/p", "latest", new Map([["catalog.json", Buffer.from(text)]]));
    await this.#world.serve("p", "quay.io/catalogs/p:latest");
  }
}

/** A kubeconfig entry for the proxy, for clients with a token. */
function buildKubeconfig({ url, ca }: FaultProxy): string {
  return toYaml({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "proxy",
    contexts: [{ name: "proxy", context: { cluster: "proxy", user: "nobody" } }],
    clusters: [{ name: "proxy", cluster: { server: url, "certificate-authority-data": Buffer.from(ca).toString("base64") } }],
    users: [{ name: "nobody", user: {} }],
  });
}
