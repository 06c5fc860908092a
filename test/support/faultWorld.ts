import { KubeConfig } from "@kubernetes/client-node";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { installConfig } from "../../pkg/devcluster/installation.ts";
import { Client } from "../../pkg/kube/client.ts";
import { Credentials } from "../../pkg/kube/credentials.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { getControllerSubject } from "../../pkg/rbac/installerManifests.ts";
import type { AuditEvent, TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { createExtension } from "./extensions.ts";
import { expectGone, expectInstalled, type FaultVersion, faultBundle, faultObjects } from "./faultBundle.ts";
import { FaultProxy } from "./faultProxy.ts";
import { KillPoint } from "./killPoint.ts";
import { OperatorWorld } from "./operatorWorld.ts";
import { grantInstaller } from "./serviceAccounts.ts";

const VERSIONS: readonly FaultVersion[] = ["1.0.0", "2.0.0"];
/** Longer than the interval of any poll. */
const QUIET_MS = 2_000;
/** Servers that restart take some time. */
const TIMEOUT_MS = 60_000;

/** A controller with the permissions of config/rbac, and a fault proxy in front of the API server. Contains one small extension at a time. */
export class FaultWorld implements AsyncDisposable {
  readonly proxy: FaultProxy;
  readonly operator: OperatorWorld;
  readonly #cluster: TestCluster;
  readonly #client: Client;

  private constructor(cluster: TestCluster, proxy: FaultProxy, operator: OperatorWorld, client: Client) {
    this.#cluster = cluster;
    this.proxy = proxy;
    this.operator = operator;
    this.#client = client;
  }

  static async start(cluster: TestCluster): Promise<FaultWorld> {
    await installConfig(cluster.client);
    const proxy = await FaultProxy.start(cluster.server);
    const client = await controllerBehind(proxy, cluster.client);
    const operator = await OperatorWorld.start(cluster, {}, client);
    const world = new FaultWorld(cluster, proxy, operator, client);
    for (const version of VERSIONS) operator.bundle(`p.v${version}`, faultBundle(version));
    const entries = ["p.v1.0.0", { name: "p.v2.0.0", replaces: "p.v1.0.0" }];
    await operator.serve({ channels: { stable: entries }, bundles: ["p.v1.0.0", "p.v2.0.0"] });
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.operator[Symbol.asyncDispose]();
    await this.#client.close();
    await this.proxy[Symbol.asyncDispose]();
  }

  /** Creates an extension at version 1.0.0, whose installer has the permissions that its bundles need. */
  async create(name: string): Promise<ClusterExtension> {
    const created = createExtension(name, { packageName: "p", version: "1.0.0" });
    const objects = VERSIONS.flatMap((version) => faultObjects(version, getNamespace(created)));
    await grantInstaller(this.#cluster.client, created, objects);
    return this.#cluster.client.create(created);
  }

  /** Requests version 2.0.0. */
  async upgrade(name: string): Promise<void> {
    const patch = { spec: { source: { catalog: { version: "2.0.0" } } } };
    await this.#cluster.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, patch, { type: "merge" });
  }

  /** Deletes one object of an extension and changes another. */
  async damage(extension: ClusterExtension): Promise<void> {
    const namespace = getNamespace(extension);
    const { client } = this.#cluster;
    await client.delete({ apiVersion: "v1", kind: "Service", name: "tiny", namespace });
    const settings = { apiVersion: "v1", kind: "ConfigMap", name: "settings", namespace };
    await client.patch(settings, { data: { version: "other" } }, { type: "merge" });
  }

  /** Removes the fault rules, the hooks of the proxy, and every extension. */
  async clear(): Promise<void> {
    this.proxy.arm([]);
    this.proxy.removeAllHooks();
    const { client } = this.#cluster;
    const { items } = await client.list({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION });
    await Promise.all(items.map(({ metadata }) => this.operator.remove(metadata.name)));
  }

  async delete(name: string): Promise<void> {
    await this.#cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  }

  /** Waits until an extension is completely at a version, with exactly these releases, such as "v1 deployed". */
  settled(x: ClusterExtension, version: FaultVersion, releases: readonly string[]): Promise<void> {
    return eventually(() => expectInstalled(this.#cluster.client, x, version, releases), { timeoutMs: TIMEOUT_MS });
  }

  /** Waits until no object of an extension is left. */
  gone(x: ClusterExtension): Promise<void> {
    return eventually(() => expectGone(this.#cluster.client, x), { timeoutMs: TIMEOUT_MS });
  }

  /** Returns the requests of the controller and of installers in the audit log from a time on, in milliseconds since the epoch. */
  async audited(since: number): Promise<number> {
    const events = await this.#cluster.auditEvents();
    const isOurs = ({ user: { username } }: AuditEvent): boolean =>
      /:(operator-controller-controller-manager|x-\w+-installer)$/.test(username);
    return events.filter((event) => isOurs(event) && Date.parse(event.requestReceivedTimestamp) >= since).length;
  }

  /** Creates a kill point, counted from the next write of the controller and installers. */
  pointAfter(writes: number): KillPoint {
    const users = [getControllerSubject(SYSTEM_NAMESPACE).name, "-installer"];
    return new KillPoint(this.proxy, writes, ({ user }) => users.some((suffix) => user.endsWith(suffix)));
  }

  /** Waits until the proxy has received no request for two seconds. */
  async quiet(): Promise<void> {
    await eventually(() => {
      const last = this.proxy.requests.at(-1);
      if (last && performance.now() - last.at < QUIET_MS) throw new Error(`still busy with ${last.verb} ${last.resource} ${last.name}`);
    });
  }
}

/** The controller's ServiceAccount, through the proxy. */
export async function controllerBehind(proxy: FaultProxy, admin: Client): Promise<Client> {
  const { namespace, name } = getControllerSubject(SYSTEM_NAMESPACE);
  const token = await new ServiceAccountTokens(admin).tokenFor(namespace, name)();
  return Client.of(
    new Credentials(() => {
      const config = new KubeConfig();
      const caData = Buffer.from(proxy.ca).toString("base64");
      config.loadFromClusterAndUser({ name: "proxy", server: proxy.url, skipTLSVerify: false, caData }, { name: "controller", token });
      return config;
    }),
    { userAgent: "operator-controller" },
  );
}
