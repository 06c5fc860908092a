import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { CLUSTER_OPERATOR } from "../../pkg/operatorcontroller/openshift/clusterOperator.ts";
import { eventually } from "./eventually.ts";
import { followObjects } from "./followObjects.ts";
import { getObjectCondition, OpenShift } from "./openShift.ts";
import { grantInstaller } from "./serviceAccounts.ts";
import type { SmallPackage } from "./smallPackage.ts";
import { World, type WorldCluster } from "./world.ts";

const MANAGERS = join(import.meta.dirname, "../../config/manager");

/** A write that a watch showed: its time in milliseconds, and its position among all writes of the cluster. */
export interface SeenWrite {
  readonly at: number;
  readonly revision: number;
}

/** A condition of ClusterOperator `olm` from one write until the next. */
export interface SeenCondition extends SeenWrite {
  readonly status: string | undefined;
  readonly reason: string | undefined;
}

/** All programs on an OpenShift-like cluster, with small packages in one catalog. */
export class GateWorld {
  readonly world: World;
  readonly openShift: OpenShift;
  /** Flags of operator-controller for its next start. */
  readonly flags: string[];
  readonly #cluster: WorldCluster;

  private constructor(cluster: WorldCluster, world: World, openShift: OpenShift, flags: string[]) {
    this.#cluster = cluster;
    this.world = world;
    this.openShift = openShift;
    this.flags = flags;
  }

  /** @param options.version of the cluster. */
  static async start(cluster: WorldCluster, { version, packages }: { version: string; packages: readonly SmallPackage[] }) {
    const openShift = new OpenShift(cluster.client);
    await openShift.install();
    await openShift.grantRegistries();
    await openShift.setVersion(version);
    const flags = ["--max-backoff", "2s"];
    const world = await World.start(cluster, { extraArgs: { "operator-controller": flags } });
    const gateWorld = new GateWorld(cluster, world, openShift, flags);
    await gateWorld.applyManagers();
    await gateWorld.#serve(packages);
    return gateWorld;
  }

  /** Creates the Deployments of the controllers; their Pods only pretend to run. */
  async applyManagers(): Promise<void> {
    for (const file of ["catalogd.yaml", "operator-controller.yaml"]) {
      const objects = parseYamlDocuments(await readFile(join(MANAGERS, file), "utf8")) as KubeObject[];
      for (const object of objects) if (object.kind === "Deployment") await this.world.apply(object);
    }
  }

  async #serve(packages: readonly SmallPackage[]): Promise<void> {
    const metas: object[] = [];
    for (const each of packages) {
      const images = new Map<string, string>();
      for (const of of each.versions) {
        const repository = `bundles/${each.name}`;
        images.set(of.version, await this.world.pushBundle(repository, `v${of.version}`, each.name, each.bundleFiles(of)));
      }
      metas.push(...each.catalogMetas(({ version }) => images.get(version) ?? ""));
    }
    const lines = Buffer.from(metas.map((meta) => `${JSON.stringify(meta)}\n`).join(""));
    await this.world.pushCatalog("catalogs/gate", "latest", new Map([["catalog.json", lines]]));
    await this.world.serve("gate", "quay.io/catalogs/gate:latest");
  }

  /** Installs one version of a package, or upgrades to it, and waits until it is installed. */
  async install(of: SmallPackage, version: string): Promise<ClusterExtension> {
    const gateWorld = await this.ask(of, version);
    await this.world.installed(of.name, version);
    return gateWorld;
  }

  /** Like `install`, without waiting. */
  async ask(of: SmallPackage, version: string): Promise<ClusterExtension> {
    const gateWorld = of.extension({ version });
    await grantInstaller(this.#cluster.client, gateWorld, of.objects(getNamespace(gateWorld)));
    await this.world.apply(gateWorld);
    return gateWorld;
  }

  /** Removes every extension. */
  async clear(): Promise<void> {
    const { items } = await this.#cluster.client.list({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION });
    await Promise.all(items.map(({ metadata }) => this.world.removed("ClusterExtension", metadata.name)));
  }

  /** Kills operator-controller, or restarts it with the current flags. */
  async restart(signal: NodeJS.Signals | undefined, meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
    const server = this.world.installation.servers["operator-controller"];
    if (signal) {
      process.kill(server.pid ?? 0, signal);
      await eventually(() => {
        if (server.ended === undefined) throw new Error("operator-controller is still running");
      });
      this.world.unexpectedEnds.pop();
    }
    await meanwhile();
    await this.world.installation.restart("operator-controller");
  }

  /** Records every state of a condition until `stop` is called. */
  async watchCondition(type: string): Promise<{ readonly seen: readonly SeenCondition[]; stop: () => Promise<void> }> {
    const seen: SeenCondition[] = [];
    const selection = { fieldSelector: `metadata.name=${CLUSTER_OPERATOR.name}` };
    const stop = await followObjects(this.#cluster.client, { ...CLUSTER_OPERATOR, selection }, (object) => {
      const { status, reason } = getObjectCondition(object, type) ?? {};
      seen.push({ ...toSeenWrite(object), status, reason });
    });
    return { seen, stop };
  }

  /** Returns the first write of each state of an extension's releases, such as "v2 deployed". */
  async watchReleases(extension: string): Promise<{ readonly seen: ReadonlyMap<string, SeenWrite>; stop: () => Promise<void> }> {
    const seen = new Map<string, SeenWrite>();
    const selection = { namespace: SYSTEM_NAMESPACE, labelSelector: `owner=operator-controller,type=index,name=${extension}` };
    const stop = await followObjects(this.#cluster.client, { apiVersion: "v1", kind: "Secret", selection }, (object) => {
      const { labels = {} } = object.metadata;
      const text = `v${labels["version"]} ${labels["status"]}`;
      if (!seen.has(text)) seen.set(text, toSeenWrite(object));
    });
    return { seen, stop };
  }

  /** Events about ClusterOperator `olm`, as "Reason: message". */
  async events(): Promise<string[]> {
    const fieldSelector = `involvedObject.kind=${CLUSTER_OPERATOR.kind},involvedObject.name=${CLUSTER_OPERATOR.name}`;
    const { items } = await this.#cluster.client.list({ apiVersion: "v1", kind: "Event" }, { fieldSelector });
    return items.map((event) => `${String(event["reason"])}: ${String(event["message"])}`);
  }

  /** Returns the operator-controller metric lines whose name begins with a prefix, without help lines. */
  async metrics(name: string): Promise<string[]> {
    const probes = (await this.logged("starting")).at(-1)?.["probes"];
    const text = await (await fetch(`${String(probes)}/metrics`)).text();
    return text.split("\n").filter((line) => line.startsWith(name));
  }

  /** Returns the log entries of operator-controller with this message so far, oldest first. */
  async logged(message: string): Promise<Record<string, unknown>[]> {
    const text = await readFile(join(this.world.workDir, "operator-controller.log"), "utf8");
    return text
      .split("\n")
      .filter((line) => line.includes(message))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === message);
  }
}

function toSeenWrite({ metadata }: KubeObject): SeenWrite {
  return { at: performance.now(), revision: Number(metadata.resourceVersion) };
}
