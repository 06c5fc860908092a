import { KubeConfig } from "@kubernetes/client-node";
import { expect } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { type KubeObject, refOf } from "../../pkg/api/k8s.ts";
import { CONTROLLER_SUBJECT, installConfig } from "../../pkg/devcluster/installation.ts";
import { Client } from "../../pkg/kube/client.ts";
import { Credentials } from "../../pkg/kube/credentials.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { ownObjects } from "./audit.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { extensionNamed } from "./extensions.ts";
import { type FaultVersion, faultBundle, faultObjects } from "./faultBundle.ts";
import { FaultProxy } from "./faultProxy.ts";
import { grantInstaller } from "./installer.ts";
import { OperatorWorld, type Times } from "./operatorWorld.ts";

const VERSIONS: readonly FaultVersion[] = ["1.0.0", "2.0.0"];
/** Nobody who waits for something asks as seldom as that. */
const QUIET_MS = 2_000;

/** A controller with the rights of config/rbac behind a proxy that lets things go wrong, and one small extension after the other. */
export class FaultWorld implements AsyncDisposable {
  readonly proxy: FaultProxy;
  readonly operator: OperatorWorld;
  readonly #cluster: TestCluster;
  readonly #tokens: ServiceAccountTokens;
  #client: Client;

  private constructor(cluster: TestCluster, proxy: FaultProxy, operator: OperatorWorld, client: Client, tokens: ServiceAccountTokens) {
    this.#cluster = cluster;
    this.proxy = proxy;
    this.operator = operator;
    this.#client = client;
    this.#tokens = tokens;
  }

  static async start(cluster: TestCluster, times: Times = {}): Promise<FaultWorld> {
    await installConfig(cluster.client);
    const proxy = await FaultProxy.start(cluster.server);
    const tokens = new ServiceAccountTokens(cluster.client);
    const client = await controllerBehind(proxy, tokens);
    const operator = await OperatorWorld.start(cluster, times, client);
    const world = new FaultWorld(cluster, proxy, operator, client, tokens);
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

  /** Ends the controller as if it were killed: nothing of what it still does gets to the API server. Another one takes its place. */
  async replaceController(): Promise<void> {
    const before = this.#client;
    this.proxy.cut();
    this.#client = await controllerBehind(this.proxy, this.#tokens);
    await this.operator.restart(this.#client, () => this.proxy.mend());
    await before.close();
  }

  /** Creates an extension at version 1.0.0, whose installer has the rights that its bundles need. */
  async create(name: string): Promise<ClusterExtension> {
    const made = extensionNamed(name, { packageName: "p", version: "1.0.0" });
    const objects = VERSIONS.flatMap((version) => faultObjects(version, made.spec.namespace));
    await grantInstaller(this.#cluster.client, made, objects);
    return this.#cluster.client.create(made);
  }

  /** Asks for version 2.0.0. */
  async upgrade(name: string): Promise<void> {
    const patch = { spec: { source: { catalog: { version: "2.0.0" } } } };
    await this.#cluster.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, patch, { type: "merge" });
  }

  /** Deletes one object of an extension and changes another. */
  async damage({ spec: { namespace } }: ClusterExtension): Promise<void> {
    const { client } = this.#cluster;
    await client.delete({ apiVersion: "v1", kind: "Service", name: "tiny", namespace });
    const settings = { apiVersion: "v1", kind: "ConfigMap", name: "settings", namespace };
    await client.patch(settings, { data: { version: "other" } }, { type: "merge" });
  }

  /** Lets everything pass again, and removes every extension. */
  async clear(): Promise<void> {
    this.proxy.arm([]);
    this.proxy.mend();
    const { client } = this.#cluster;
    const { items } = await client.list({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION });
    await Promise.all(items.map(({ metadata }) => this.operator.remove(metadata.name)));
  }

  async delete(name: string): Promise<void> {
    await this.#cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  }

  /** Waits until an extension is at a version in every respect, with these releases, such as "v1 deployed", and nothing else. */
  async settled(
    { metadata: { name }, spec: { namespace } }: ClusterExtension,
    version: FaultVersion,
    releases: readonly string[],
  ): Promise<void> {
    const { client } = this.#cluster;
    const wanted = faultObjects(version, namespace);
    await eventually(async () => {
      const { status } = await this.operator.get(name);
      const reasonOf = (type: string): string | undefined => findCondition(status?.conditions, type)?.reason;
      expect([status?.install?.bundle.version, reasonOf("Installed"), reasonOf("Progressing")]).toEqual([
        version,
        "Succeeded",
        "Succeeded",
      ]);
      expect(await ownObjects(client, name)).toEqual(wanted.map(describeObject).sort());
      for (const object of wanted)
        if (object.kind === "ConfigMap") expect((await client.get(refOf(object)))?.["data"]).toEqual({ version });
      expect(await this.#image(namespace)).toBe(`registry.example.com/tiny:${version}`);
      expect(await this.operator.releases(name)).toEqual(releases);
    });
  }

  /** Waits until nothing of an extension is left. */
  async gone({ metadata: { name } }: ClusterExtension): Promise<void> {
    const { client } = this.#cluster;
    await eventually(async () => {
      expect(await client.get({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name })).toBeUndefined();
      expect(await ownObjects(client, name)).toEqual([]);
      expect(await this.#releaseSecrets(name)).toEqual([]);
    });
  }

  /** Waits until for two seconds nobody behind the proxy has asked for anything. */
  async quiet(): Promise<void> {
    await eventually(() => {
      const last = this.proxy.requests.at(-1);
      if (last && performance.now() - last.at < QUIET_MS) throw new Error(`still busy with ${last.verb} ${last.resource} ${last.name}`);
    });
  }

  async #image(namespace: string): Promise<string | undefined> {
    const live = await this.#cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", name: "tiny", namespace });
    const spec = live?.["spec"] as { template: { spec: { containers: { image: string }[] } } } | undefined;
    return spec?.template.spec.containers[0]?.image;
  }

  async #releaseSecrets(name: string): Promise<string[]> {
    const selection = { namespace: SYSTEM_NAMESPACE, labelSelector: `owner=operator-controller` };
    const { items } = await this.#cluster.client.list({ apiVersion: "v1", kind: "Secret" }, selection);
    return items.map(({ metadata }: KubeObject) => metadata.name).filter((secret) => secret.includes(`.${name}.`));
  }
}

/** The controller's ServiceAccount behind the proxy. */
async function controllerBehind(proxy: FaultProxy, tokens: ServiceAccountTokens): Promise<Client> {
  const token = await tokens.tokenFor(CONTROLLER_SUBJECT.namespace, CONTROLLER_SUBJECT.name)();
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
