import { createHash } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type CatalogSource, type ClusterExtension, type ClusterExtensionSpec, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { WebhookCertProvider } from "../../pkg/api/flagValues.ts";
import type { Condition, KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { Problem } from "../../pkg/api/problems.ts";
import type { ProblemType } from "../../pkg/api/problemTypes.ts";
import type { CertificateTimes } from "../../pkg/certificates/rotation.ts";
import { POD_OUTCOME_ANNOTATION, type PodOutcome } from "../../pkg/devcluster/podSimulation.ts";
import { RetryableError } from "../../pkg/errors/errors.ts";
import type { PackageContent } from "../../pkg/fbc/types.ts";
import type { Client } from "../../pkg/kube/client.ts";
import type { BundlePuller } from "../../pkg/operatorcontroller/bundles/bundleImages.ts";
import type { ClusterProxyReader } from "../../pkg/operatorcontroller/openshift/clusterProxy.ts";
import type { ClusterVersionReader } from "../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import { OperatorController } from "../../pkg/operatorcontroller/operatorController.ts";
import { toDigestReference } from "../../pkg/operatorcontroller/reconcile/pinInstalledImage.ts";
import { PermissionManager } from "../../pkg/permissionmanager/permissionManager.ts";
import { buildInstallerManifests } from "../../pkg/rbac/installerManifests.ts";
import type { RequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics, type Metrics } from "../../pkg/telemetry/metrics.ts";
import type { ClusterVersion } from "../../pkg/version/clusterVersion.ts";
import { eventTexts, releaseStates } from "./audit.ts";
import { type CatalogFixture, type ClusterFixture, clusterFrom, contentFrom, indexPackages } from "./catalogFixture.ts";
import { createCatalog } from "./catalogs.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { createExtension } from "./extensions.ts";
import { expectKstatus, isObserved } from "./kstatus.ts";
import { EVERYTHING } from "./loneExtension.ts";
import { expectProblem, problemText, type WantedProblem } from "./problems.ts";
import { serviceAccount } from "./serviceAccounts.ts";
import { TempFolder } from "./tempFolder.ts";
import { tinyBundle } from "./tinyBundle.ts";

const PACKAGE = "p";
const CATALOG: ObjectRef = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "c" };
const SYSTEM = "olmv1-system";

/** The controllers of this process that pull images. */
type Program = "operator-controller" | "permission-manager";

/**
 * An OperatorController in this process, on a control plane of its own, with one catalog that contains one package `p`, whose bundles are folders
 * that a test writes. Tests of a running controller then need neither a registry nor catalogd.
 */
export class OperatorWorld implements AsyncDisposable {
  /** The cluster version that the controller reads. */
  readonly clusterVersion = new SetClusterVersion();
  readonly #cluster: TestCluster;
  /** References that were pulled. */
  readonly pulled: string[] = [];
  /** Extensions whose pulls were cancelled. */
  readonly cancelled: string[] = [];
  readonly #hanging = new Map<string, Promise<void>>();
  readonly #failing = new Map<string, Error>();
  readonly #folder = new TempFolder();
  /** Digests by name, as hex. */
  readonly #tags = new Map<string, string>();
  readonly #times: Times;
  readonly #client: Client;
  #running: Running;
  /** By address of the catalog, and by package. */
  readonly #contents = new Map<string, Map<string, PackageContent>>();
  #digests = 0;

  private constructor(cluster: TestCluster, times: Times, client: Client) {
    this.#cluster = cluster;
    this.#times = times;
    this.#client = client;
    this.#running = this.#run(client);
  }

  /** @param client identity of the controller; the administrator by default. */
  static async start(cluster: TestCluster, times: Times = {}, client: Client = cluster.client): Promise<OperatorWorld> {
    await cluster.installCrds();
    await cluster.client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: SYSTEM } }, { fieldManager: "test" });
    return new OperatorWorld(cluster, times, client);
  }

  get controller(): OperatorController {
    return this.#running.controller;
  }

  /** Returns the samples of a metric of a running program, by the value of its only label. */
  async metric(name: string, program: Program = "operator-controller"): Promise<Record<string, number>> {
    const samples = (await this.#running.metrics[program].text()).matchAll(/^(\w+)\{\w+="([^"]*)"\} (\S+)$/gm);
    return Object.fromEntries([...samples].filter(([, other]) => other === name).map(([, , value = "", count]) => [value, Number(count)]));
  }

  /** Stops the controller and starts a new one, with empty memory. @param between runs while none is running. */
  async restart(between: () => unknown = () => undefined): Promise<void> {
    await this.#running.end();
    await between();
    this.#running = this.#run(this.#client);
  }

  #run(client: Client): Running {
    const times = this.#times;
    const metrics = createMetrics("operator_controller");
    const managerMetrics = createMetrics("permission_manager");
    const log = createLogger({
      component: "operator-controller",
      level: times.lines ? "debug" : "silent",
      destination: { write: (line) => times.lines?.push(line) },
    });
    const pullerOf = (program: Program): BundlePuller => ({
      cached: () => Promise.resolve(undefined),
      pull: (owner, ref, { signal }) => this.#pullAs(program, owner, ref, signal),
      remove: () => Promise.resolve(),
    });
    const packages = {
      packageContent: async (base: string, _ref: string, name: string) => {
        await this.#hanging.get(name);
        return this.#contents.get(base)?.get(name);
      },
      bundleIndex: (base: string) => indexPackages(this.#contents.get(base)?.values() ?? []),
    };
    const manager =
      times.permissionManager &&
      new PermissionManager({
        client: times.permissionManager,
        puller: pullerOf("permission-manager"),
        packages,
        systemNamespace: SYSTEM,
        webhookCertProvider: times.webhookCertProvider ?? "auto",
        admission: { check: () => Promise.resolve() }, // no policies are installed
        defaultGrant: "Guarded",
        workers: 2,
        maxBackoffMs: times.maxBackoffMs ?? 500,
        log,
        metrics: managerMetrics,
      });
    const controller = new OperatorController({
      client,
      puller: pullerOf("operator-controller"),
      packages,
      systemNamespace: SYSTEM,
      managedPermissions: times.permissionManager ? "on" : "off",
      clusterVersion: this.clusterVersion,
      clusterUpgrade: { mode: "off" },
      workers: 2,
      driftIntervalMs: times.driftIntervalMs ?? 600_000,
      recheckIntervalMs: times.recheckIntervalMs ?? 15_000,
      maxBackoffMs: times.maxBackoffMs ?? 500,
      ...(times.slowReconcileMs === undefined ? {} : { slowReconcileMs: times.slowReconcileMs }),
      ...(times.certificates ? { certificateTimes: times.certificates } : {}),
      ...(times.webhookCertProvider ? { webhookCertProvider: times.webhookCertProvider } : {}),
      ...(times.clusterProxy ? { clusterProxy: times.clusterProxy } : {}),
      ...(times.minuteMs === undefined ? {} : { deadlineMinuteMs: times.minuteMs }),
      ...(times.now ? { now: times.now } : {}),
      log,
      metrics,
    });
    const stop = new AbortController();
    const running = Promise.all([controller.run(stop.signal), manager?.run(stop.signal)]).then(() => undefined);
    return {
      controller,
      metrics: { "operator-controller": metrics, "permission-manager": managerMetrics },
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

  /**
   * Writes the files of the bundle that the catalog calls `name`, such as "p.v1.0.0". `name` works like a tag: the earlier image can still be pulled
   * by digest.
   * @param of the image digest, such as "sha256:…", if a registry also contains the image.
   */
  bundle(name: string, files: Readonly<Record<string, string | Uint8Array>>, of?: string): void {
    const digest = of?.replace("sha256:", "") ?? createHash("sha256").update(JSON.stringify(files)).digest("hex");
    this.#tags.set(name, digest);
    rmSync(join(this.#folder.path, digest), { recursive: true, force: true });
    this.#folder.write(digest, files);
  }

  /** Deletes a name and its image from the registry. */
  withdraw(name: string): void {
    const digest = this.#tags.get(name);
    if (digest !== undefined) rmSync(join(this.#folder.path, digest), { recursive: true, force: true });
    this.#tags.delete(name);
  }

  /** Makes pulls of a bundle's image fail. @returns a function that ends the failure. */
  fail(name: string, error: Error): () => void {
    this.#failing.set(name, error);
    return () => void this.#failing.delete(name);
  }

  /**
   * Makes pulls of a bundle's image, or requests for a package, hang as if the registry did not respond.
   * @param program whose pulls hang. Default: those of both
   * @returns a function that ends the hang.
   */
  hang(name: string, program?: Program): () => void {
    const key = program === undefined ? name : `${program} ${name}`;
    const end = Promise.withResolvers<void>();
    this.#hanging.set(key, end.promise);
    return () => {
      this.#hanging.delete(key);
      end.resolve();
    };
  }

  async #pullAs(
    program: Program,
    owner: string,
    ref: string,
    signal: AbortSignal,
  ): Promise<{ canonical: string; digest: string; dir: string }> {
    const name = ref.slice(ref.lastIndexOf("/") + 1);
    const failure = this.#failing.get(name);
    if (failure) throw failure;
    const hanging = this.#hanging.get(name) ?? this.#hanging.get(`${program} ${name}`);
    if (hanging) {
      const cancelled = Promise.withResolvers<never>();
      signal.addEventListener(
        "abort",
        () => {
          this.cancelled.push(owner);
          cancelled.reject(signal.reason);
        },
        { once: true },
      );
      await Promise.race([hanging, cancelled.promise]);
    }
    return this.#pull(ref);
  }

  #pull(ref: string): Promise<{ canonical: string; digest: string; dir: string }> {
    this.pulled.push(ref);
    const [image = "", stated] = ref.split("@sha256:");
    const digest = stated ?? this.#tags.get(image.slice(image.lastIndexOf("/") + 1)) ?? "";
    const dir = join(this.#folder.path, digest);
    if (digest === "" || !existsSync(dir)) return Promise.reject(new RetryableError("Retrying", `manifest of ${ref} unknown`));
    return Promise.resolve({ canonical: toDigestReference(ref, `sha256:${digest}`), digest: `sha256:${digest}`, dir });
  }

  /** Replaces the catalog's content of its package `p`, under a new digest. */
  async serve(fixture: CatalogFixture): Promise<void> {
    await this.servePackage(contentFrom(fixture, PACKAGE), PACKAGE);
  }

  /** Serves a channel whose bundles are `tinyBundle` with these objects, by version, and these annotations of their ClusterServiceVersions. */
  async serveVersions(objectsOf: Readonly<Record<string, readonly KubeObject[]>>, annotations: Record<string, string> = {}): Promise<void> {
    const versions = Object.entries(objectsOf);
    for (const [version, objects] of versions) this.bundle(`p.v${version}`, tinyBundle(version, { objects, annotations }));
    const names = versions.map(([version]) => `p.v${version}`);
    await this.serve({ channels: { all: names }, bundles: names });
  }

  /** Like `serve`, for any package and catalog. */
  async servePackage(content: PackageContent, packageName: string, catalogName = CATALOG.name): Promise<void> {
    const base = `https://catalogd.example.com/catalogs/${catalogName}`;
    const contents = this.#contents.get(base) ?? new Map<string, PackageContent>();
    this.#contents.set(base, contents.set(packageName, content));
    const digest = `quay.io/${catalogName}@sha256:${String(++this.#digests).padStart(64, "0")}`;
    const labels = { "olm.operatorframework.io/metadata.name": catalogName };
    const { status, ...catalog } = createCatalog(catalogName, { digest, base, labels });
    await this.#cluster.client.apply(catalog, { fieldManager: "test", force: true });
    await this.#cluster.client.patch({ ...CATALOG, name: catalogName }, { status }, { type: "merge", subresource: "status" });
  }

  /**
   * Creates an extension of the package with an installer that has all permissions, or those of `computeRules`, in its own namespace whose Pods reach `podOutcome`.
   * `before` is called with the namespace before the extension is created.
   */
  async extension(
    name: string,
    { podOutcome, before, catalog, computeRules, ...spec }: Partial<ClusterExtensionSpec> & ExtensionParts = {},
  ): Promise<ClusterExtension> {
    const extension = createExtension(name, { packageName: PACKAGE, ...catalog });
    const namespace = getNamespace(extension);
    const { serviceAccount: account } = extension.spec;
    const annotations = podOutcome ? { [POD_OUTCOME_ANNOTATION]: podOutcome } : {};
    await this.#cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, annotations } });
    if (computeRules) {
      const installer = { namespace, name: account?.name ?? "" };
      for (const object of buildInstallerManifests(installer, computeRules(namespace), { kind: "User", name: "nobody" }))
        await this.#cluster.client.apply(object, { fieldManager: "test", force: true });
    } else await serviceAccount(this.#cluster.client, namespace, account?.name ?? "", [EVERYTHING]);
    await before?.(namespace);
    return this.#cluster.client.create<ClusterExtension>({ ...extension, spec: { ...extension.spec, ...spec } });
  }

  /**
   * Waits until conditions have these statuses and reasons, such as {Available: "False/RollingOut"}.
   * @returns their messages, and as `problems` the text of status.problems.
   */
  async conditions(name: string, want: Readonly<Record<string, string>>, timeoutMs = 60_000): Promise<Record<string, string>> {
    return eventually(
      async () => {
        const extension = await this.get(name);
        const { status } = extension;
        const found = (type: string): Condition | undefined => findCondition(status?.conditions, type);
        const wrong = Object.entries(want).filter(([type, text]) => `${found(type)?.status}/${found(type)?.reason}` !== text);
        if (wrong.length > 0) throw new Error(`${name} is not ${JSON.stringify(want)}: ${JSON.stringify(status?.conditions, null, 1)}`);
        if (isObserved(extension)) expectKstatus(extension);
        const messages = Object.keys(want).map((type) => [type, found(type)?.message ?? ""] as const);
        return Object.fromEntries([...messages, ["problems", problemText(status)]]);
      },
      { timeoutMs },
    );
  }

  async get(name: string): Promise<ClusterExtension> {
    const found = await this.#cluster.client.get<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
    if (!found) throw new Error(`ClusterExtension ${name} does not exist`);
    return found;
  }

  /** Waits until an extension reports a problem, see `expectProblem`. */
  async expectProblem(name: string, type: ProblemType, want: WantedProblem = {}): Promise<Problem> {
    return eventually(async () => expectProblem(await this.get(name), type, want));
  }

  /** Waits until `check` of an extension succeeds. */
  async until(name: string, check: (extension: ClusterExtension) => void): Promise<void> {
    await eventually(async () => check(await this.get(name)));
  }

  /** Deletes an extension and waits until it no longer exists. */
  async remove(name: string): Promise<void> {
    await this.#cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
    await this.gone(name);
  }

  /** Waits until no extension of that name exists. */
  async gone(name: string): Promise<void> {
    const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
    await eventually(async () => {
      if (await this.#cluster.client.get(ref)) throw new Error(`ClusterExtension ${name} still exists`);
    });
  }

  /** Returns the releases with their states, such as "v1 superseded", oldest first. */
  releases(name: string): Promise<string[]> {
    return releaseStates(this.#cluster.client, name);
  }

  /** Returns the Events about an extension, as "Reason: message". */
  events(name: string): Promise<string[]> {
    return eventTexts(this.#cluster.client, name);
  }
}

interface Running {
  readonly metrics: Readonly<Record<Program, Metrics>>;
  readonly controller: OperatorController;
  end(): Promise<void>;
}

/** A cluster version that a test sets; a cluster other than OpenShift at first. */
class SetClusterVersion implements ClusterVersionReader {
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

/** Members of a new extension in addition to its spec. */
export interface ExtensionParts {
  podOutcome?: PodOutcome;
  before?: (namespace: string) => Promise<unknown>;
  /** Permissions of the installer; all by default. */
  computeRules?: (namespace: string) => RequiredRules;
  catalog?: Partial<CatalogSource>;
}

/** Intervals of the controller in milliseconds, and other options that differ from its defaults. */
export interface Times {
  certificates?: CertificateTimes;
  webhookCertProvider?: WebhookCertProvider;
  /** Proxy for installed operators; the test runs its reader. */
  clusterProxy?: ClusterProxyReader;
  driftIntervalMs?: number;
  maxBackoffMs?: number;
  slowReconcileMs?: number;
  recheckIntervalMs?: number;
  /** The time for support phases and conditions. */
  now?: () => number;
  /** Duration of one minute of the progress deadline. */
  minuteMs?: number;
  /** Receives every log line; logging is off by default. */
  lines?: string[];
  /** Runs permission-manager with this client; extensions then need no ServiceAccount. */
  permissionManager?: Client;
}
