import { rmSync } from "node:fs";
import { join } from "node:path";
import type { CatalogSource, ClusterExtension, ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { Condition, ObjectRef } from "../../pkg/api/k8s.ts";
import type { CertificateTimes } from "../../pkg/certificates/certificatePlan.ts";
import { POD_FATE_ANNOTATION, type PodFate } from "../../pkg/devcluster/podFate.ts";
import type { PackageContent } from "../../pkg/fbc/types.ts";
import type { ClusterVersion } from "../../pkg/gate/clusterVersion.ts";
import type { Client } from "../../pkg/kube/client.ts";
import type { WebhookCertProvider } from "../../pkg/operatorcontroller/certificates/providerChoice.ts";
import type { ClusterVersionReader } from "../../pkg/operatorcontroller/clusterupgrade/clusterVersionSource.ts";
import { OperatorController } from "../../pkg/operatorcontroller/operatorController.ts";
import { installerManifests } from "../../pkg/rbac/manifest.ts";
import type { RequiredRules } from "../../pkg/rbac/rules.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics } from "../../pkg/telemetry/metrics.ts";
import { type CatalogFixture, type ClusterFixture, clusterFrom, contentFrom } from "./catalogFixture.ts";
import { catalogNamed } from "./catalogs.ts";
import type { TestCluster } from "./cluster.ts";
import { TempFolder } from "./contentFixture.ts";
import { eventually } from "./eventually.ts";
import { extensionNamed } from "./extensions.ts";
import { EVERYTHING } from "./ownedObjects.ts";
import { serviceAccount } from "./serviceAccount.ts";

const PACKAGE = "p";
const CATALOG: ObjectRef = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "c" };
const SYSTEM = "olmv1-system";

/**
 * An OperatorController in this very process, on a cluster of its own, with one catalog that holds one package `p`, whose bundles are folders
 * that a test writes: so a test can turn what only a running controller shows, and no registry and no catalogd are needed.
 */
export class OperatorWorld implements AsyncDisposable {
  /** Version of the cluster that the controller is told. */
  readonly clusterVersion = new SetClusterVersion();
  readonly #cluster: TestCluster;
  readonly #folder = new TempFolder();
  readonly #times: Times;
  #running: Running;
  #content: PackageContent | undefined;
  #digests = 0;

  private constructor(cluster: TestCluster, times: Times, client: Client) {
    this.#cluster = cluster;
    this.#times = times;
    this.#running = this.#run(client);
  }

  /** @param client whom the controller is; without it, the administrator. */
  static async start(cluster: TestCluster, times: Times = {}, client: Client = cluster.client): Promise<OperatorWorld> {
    await cluster.installCrds();
    await cluster.client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: SYSTEM } }, { fieldManager: "test" });
    return new OperatorWorld(cluster, times, client);
  }

  get controller(): OperatorController {
    return this.#running.controller;
  }

  #run(client: Client): Running {
    const times = this.#times;
    const controller = new OperatorController({
      client,
      puller: {
        pull: (_owner, ref) => Promise.resolve({ canonical: ref, dir: `${this.#folder.path}/${folderOf(ref)}` }),
        remove: () => Promise.resolve(),
      },
      packages: { packageContent: () => Promise.resolve(this.#content) },
      systemNamespace: SYSTEM,
      serviceAccountFallback: "deny",
      clusterVersion: this.clusterVersion,
      clusterUpgrade: { mode: "off" },
      workers: 2,
      driftIntervalMs: times.driftIntervalMs ?? 600_000,
      recheckIntervalMs: times.recheckIntervalMs ?? 15_000,
      maxBackoffMs: times.maxBackoffMs ?? 500,
      ...(times.certificates ? { certificateTimes: times.certificates } : {}),
      ...(times.webhookCertProvider ? { webhookCertProvider: times.webhookCertProvider } : {}),
      ...(times.minuteMs === undefined ? {} : { deadlineMinuteMs: times.minuteMs }),
      log: createLogger({ component: "operator-controller", level: "silent" }),
      metrics: createMetrics("operator_controller"),
    });
    const stop = new AbortController();
    const running = controller.run(stop.signal);
    return {
      controller,
      end: () => {
        stop.abort();
        return running;
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.end();
    this.#folder[Symbol.dispose]();
  }

  /** Writes the files of a bundle, which the catalog names by `name`, such as "p.v1.0.0", in place of those it had. */
  bundle(name: string, files: Readonly<Record<string, string | Uint8Array>>): void {
    rmSync(join(this.#folder.path, name), { recursive: true, force: true });
    this.#folder.write(name, files);
  }

  /** Makes this the content of the catalog, under a new digest. */
  async serve(fixture: CatalogFixture): Promise<void> {
    this.#content = contentFrom(fixture, PACKAGE);
    const digest = `quay.io/c@sha256:${String(++this.#digests).padStart(64, "0")}`;
    const { status, ...catalog } = catalogNamed(CATALOG.name, { digest, base: "https://catalogd.example.com/catalogs/c" });
    await this.#cluster.client.apply(catalog, { fieldManager: "test", force: true });
    await this.#cluster.client.patch(CATALOG, { status }, { type: "merge", subresource: "status" });
  }

  /**
   * Creates an extension of the package with an installer that has every right, or those of `rights`, in a namespace of its own whose Pods meet `fate`.
   * `before` is done with the namespace before there is an extension.
   */
  async extension(
    name: string,
    { fate, before, catalog, rights, ...spec }: Partial<ClusterExtensionSpec> & ExtensionParts = {},
  ): Promise<ClusterExtension> {
    const made = extensionNamed(name, { packageName: PACKAGE, ...catalog });
    const { namespace, serviceAccount: account } = made.spec;
    const annotations = fate ? { [POD_FATE_ANNOTATION]: fate } : {};
    await this.#cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, annotations } });
    if (rights) {
      const installer = { namespace, name: account?.name ?? "" };
      for (const object of installerManifests(installer, rights(namespace), { kind: "User", name: "nobody" }))
        await this.#cluster.client.apply(object, { fieldManager: "test", force: true });
    } else await serviceAccount(this.#cluster.client, namespace, account?.name ?? "", [EVERYTHING]);
    await before?.(namespace);
    return this.#cluster.client.create<ClusterExtension>({ ...made, spec: { ...made.spec, ...spec } });
  }

  /** Waits until conditions have these statuses and reasons, such as {Available: "False/RollingOut"}. @returns their messages. */
  async conditions(name: string, want: Readonly<Record<string, string>>, timeoutMs = 30_000): Promise<Record<string, string>> {
    return eventually(
      async () => {
        const { status } = await this.get(name);
        const found = (type: string): Condition | undefined => findCondition(status?.conditions, type);
        const wrong = Object.entries(want).filter(([type, text]) => `${found(type)?.status}/${found(type)?.reason}` !== text);
        if (wrong.length > 0) throw new Error(`${name} is not ${JSON.stringify(want)}: ${JSON.stringify(status?.conditions, null, 1)}`);
        return Object.fromEntries(Object.keys(want).map((type) => [type, found(type)?.message ?? ""]));
      },
      { timeoutMs },
    );
  }

  async get(name: string): Promise<ClusterExtension> {
    const found = await this.#cluster.client.get<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
    if (!found) throw new Error(`ClusterExtension ${name} does not exist`);
    return found;
  }

  /** Deletes an extension and waits until it is gone. */
  async remove(name: string): Promise<void> {
    const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
    await this.#cluster.client.delete(ref);
    await eventually(async () => {
      if (await this.#cluster.client.get(ref)) throw new Error(`ClusterExtension ${name} is still there`);
    });
  }

  /** Such as "v1 superseded", oldest first. */
  async releases(name: string): Promise<string[]> {
    const selection = { namespace: SYSTEM, labelSelector: `owner=operator-controller,type=index,name=${name}` };
    const { items } = await this.#cluster.client.list({ apiVersion: "v1", kind: "Secret" }, selection);
    return items.map(({ metadata: { labels } }) => `v${labels?.["version"]} ${labels?.["status"]}`).sort();
  }

  /** Events about an extension, as "Reason: message". */
  async events(name: string): Promise<string[]> {
    const { items } = await this.#cluster.client.list(
      { apiVersion: "v1", kind: "Event" },
      { fieldSelector: `involvedObject.name=${name}` },
    );
    return items.map((event) => `${String(event["reason"])}: ${String(event["message"])}`);
  }
}

interface Running {
  readonly controller: OperatorController;
  end(): Promise<void>;
}

/** A cluster's version that a test sets; no OpenShift cluster to begin with. */
export class SetClusterVersion implements ClusterVersionReader {
  readonly synced = Promise.resolve();
  readonly #handlers: (() => void)[] = [];
  #current: ClusterVersion = { kind: "none" };

  current(): ClusterVersion {
    return this.#current;
  }

  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  set(version: ClusterFixture): void {
    this.#current = clusterFrom(version);
    for (const handler of this.#handlers) handler();
  }
}

/** What an extension is made with beside its spec. */
export interface ExtensionParts {
  fate?: PodFate;
  before?: (namespace: string) => Promise<unknown>;
  /** What the installer may do in place of everything. */
  rights?: (namespace: string) => RequiredRules;
  catalog?: Partial<CatalogSource>;
}

/** How fast the controller is, in milliseconds, and what differs from its defaults. */
export interface Times {
  certificates?: CertificateTimes;
  webhookCertProvider?: WebhookCertProvider;
  driftIntervalMs?: number;
  maxBackoffMs?: number;
  recheckIntervalMs?: number;
  /** How long a minute of the progress deadline is. */
  minuteMs?: number;
}

function folderOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}
