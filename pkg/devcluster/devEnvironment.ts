import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { API_VERSION, CLI_MANAGER, EXTENSION_PERMISSIONS, LABEL_PERMISSIONS_FOR } from "../api/constants.ts";
import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import { Client } from "../kube/client.ts";
import { describeObject } from "../release/identity.ts";
import { formatCount } from "../text/lists.ts";
import type { PrintLine } from "./binaries.ts";
import { startDevCluster } from "./devCluster.ts";
import { buildSampleObjects, CATALOG, EXTENSION, pushSample } from "./devSample.ts";
import { type DevEndpoints, linkPrograms, startDevServers } from "./devServers.ts";
import { waitUntil } from "./installation.ts";
import type { Narrator } from "./narrator.ts";
import { startRegistry } from "./registryServer.ts";
import { SAMPLE_PACKAGE } from "./sample/sample.ts";

/** Options of `olmv1 dev`. */
export interface DevEnvironmentOptions {
  /** Kubeconfig of an existing cluster to use. Default: starts an embedded control plane. */
  kubeconfig: string | undefined;
  narrator: Narrator;
  /** Aborts when the user stops the command. */
  signal: AbortSignal;
}

const WAIT_MS = 120_000;
const POLL_MS = 100;

/**
 * A running development environment: a control plane (embedded unless a kubeconfig is given), a
 * registry with the sample operator, and catalogd and operator-controller as separate processes.
 */
export class DevEnvironment {
  readonly kubeconfig: string;
  /** Host and port of the registry, for pushes over plain HTTP. */
  readonly registry: string;
  /** Path of the registries.conf for clients that pull from the registry. */
  readonly registriesConf: string;
  /** Base URL of catalogd. It serves the catalog page at /ui. */
  readonly catalogs: string;
  /** Path of a file for shells to source. It sets the variables above, and a PATH with olmv1 and kubectl. */
  readonly envFile: string;
  readonly #admin: Client;
  readonly #narrator: Narrator;
  readonly #signal: AbortSignal;
  readonly #isEmbedded: boolean;
  readonly #cleanups: Cleanups;
  readonly #failure: FailureText;

  private constructor(
    admin: Client,
    options: DevEnvironmentOptions,
    cleanups: Cleanups,
    failure: FailureText,
    place: DevEndpoints & { catalogs: string; envFile: string },
  ) {
    this.kubeconfig = place.kubeconfig;
    this.registry = place.registry;
    this.registriesConf = place.registriesConf;
    this.catalogs = place.catalogs;
    this.envFile = place.envFile;
    this.#admin = admin;
    this.#narrator = options.narrator;
    this.#signal = options.signal;
    this.#isEmbedded = options.kubeconfig === undefined;
    this.#cleanups = cleanups;
    this.#failure = failure;
  }

  /** Starts everything and pushes the sample. If a part fails, stops the parts already started. */
  static async start(options: DevEnvironmentOptions): Promise<DevEnvironment> {
    const { narrator } = options;
    const cleanups: Cleanups = [];
    const failure: FailureText = {};
    try {
      const workDir = await mkdtemp(join(tmpdir(), "olmv1-dev-"));
      cleanups.push(() => rm(workDir, { recursive: true, force: true }));
      const title = options.kubeconfig ? `Using the cluster of ${options.kubeconfig}` : "Starting the embedded control plane";
      const place = await narrator.stage(title, () => controlPlane(options.kubeconfig, workDir, narrator, cleanups));
      const admin = Client.fromKubeConfig(place.kubeconfig);
      cleanups.push(() => admin.close());
      const catalogs = await narrator.stage("Pushing the sample and starting the servers", async () => {
        await pushSample(place.registry, narrator);
        const installation = await startDevServers(admin, place, workDir, {
          extraArgs: { catalogd: ["--leader-elect"], "operator-controller": ["--leader-elect"], "permission-manager": ["--leader-elect"] },
          onLine: (_server, line) => narrator.hear(line),
          onExit: (text) => void (failure.text ??= text),
        });
        cleanups.push(() => installation.stop());
        narrator.print("server", `catalogd, operator-controller and permission-manager are ready (logs: ${workDir})`);
        return installation.catalogs;
      });
      const envFile = await writeEnvFile(workDir, place);
      return new DevEnvironment(admin, options, cleanups, failure, { ...place, catalogs, envFile });
    } catch (err) {
      await stopAll(cleanups);
      throw err;
    }
  }

  /** Stops everything, in reverse order. */
  stop(): Promise<void> {
    return stopAll(this.#cleanups);
  }

  /** Applies the catalog, and the extension pinned to the first version. permission-manager grants exactly the permissions of its bundle. */
  async install(): Promise<void> {
    const { extension, catalog } = buildSampleObjects(this.registry);
    await this.#narrator.stage("Adding a catalog", async () => {
      await this.#apply(catalog);
      await this.#catalogServed();
    });
    await this.#narrator.stage(`Installing ${SAMPLE_PACKAGE} with exactly the permissions that it needs`, async () => {
      await this.#apply(extension);
      await this.#installed(EXTENSION.firstVersion);
    });
  }

  /**
   * Removes the version pin, so that the extension upgrades along the catalog's edges to the newest
   * version.
   */
  async upgrade(): Promise<void> {
    await this.#narrator.stage("Upgrading: removing the version pin, so that the channel's upgrade edges decide", async () => {
      await this.#admin.patch(this.#ref, { spec: { source: { catalog: { version: null } } } }, { type: "merge", signal: this.#signal });
      await this.#installed(EXTENSION.lastVersion);
    });
  }

  /** Deletes the extension and checks that none of its objects remain. */
  async uninstall(): Promise<void> {
    await this.#narrator.stage("Removing the ClusterExtension", async () => {
      await this.#admin.delete(this.#ref, { signal: this.#signal });
      await this.#until(`ClusterExtension ${EXTENSION.name} is deleted`, async () => (await this.#admin.get(this.#ref)) === undefined);
      const request = { ...EXTENSION_PERMISSIONS, name: EXTENSION.name };
      await this.#until("its permissions are revoked", async () => (await this.#admin.get(request)) === undefined);
      await this.#narrator.quiet();
      const left = await this.#leftovers();
      if (left.length > 0) throw new Error(`objects of ClusterExtension ${EXTENSION.name} remain: ${left.join(", ")}`);
      this.#narrator.print("status", "no objects remain");
    });
  }

  /** Removes the sample's catalog and namespace from a cluster that is not stopped. Keeps the CRDs and RBAC of olmv1. */
  async cleanUp(): Promise<void> {
    this.#narrator.part("Removing the objects of the sample");
    const { catalog } = buildSampleObjects(this.registry);
    const namespace: KubeObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: EXTENSION.namespace } };
    for (const object of [catalog, namespace]) {
      const ref = toObjectRef(object);
      await this.#admin.delete(ref, { signal: this.#signal });
      this.#narrator.print("user", `deleted ${describeObject(object)}`);
      if (object === catalog)
        await this.#until(`${describeObject(object)} is deleted`, async () => (await this.#admin.get(ref)) === undefined);
    }
    this.#narrator.print(
      "status",
      "the CRDs and RBAC of olmv1 remain: kubectl delete -k config removes them, and every ClusterExtension with them",
    );
  }

  /** Rejects when one of the servers ends unexpectedly. Resolves when the user stops the command. */
  async stay(): Promise<void> {
    while (!this.#signal.aborted) {
      if (this.#failure.text !== undefined) throw new Error(this.#failure.text);
      await sleep(POLL_MS);
    }
  }

  get #ref(): { apiVersion: string; kind: string; name: string } {
    return { apiVersion: API_VERSION, kind: "ClusterExtension", name: EXTENSION.name };
  }

  async #apply(object: KubeObject): Promise<void> {
    await this.#admin.apply(object, { fieldManager: CLI_MANAGER, force: true, signal: this.#signal });
    this.#narrator.print("user", `applied ${describeObject(object)}`);
  }

  async #catalogServed(): Promise<void> {
    const ref = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: CATALOG };
    let served: ClusterCatalog | undefined;
    await this.#until(`ClusterCatalog ${CATALOG} is served`, async () => {
      served = await this.#admin.get<ClusterCatalog>(ref);
      return findCondition(served?.status?.conditions, "Serving")?.status === "True";
    });
    await this.#narrator.quiet();
    this.#narrator.print("catalog", `${CATALOG}: image ${served?.spec.source.image?.ref} → ${served?.status?.resolvedSource?.image?.ref}`);
    const url = `${served?.status?.urls?.base}/api/v1/metas`;
    this.#narrator.print("catalog", `${CATALOG}: ${await countSchemas(url, this.#signal)} at ${url}`);
  }

  /** Waits until a version is installed and, on the embedded control plane, ready: nodes of other clusters cannot pull the sample's image. */
  async #installed(version: string): Promise<void> {
    const [type, text] = this.#isEmbedded ? (["Ready", "installed and ready"] as const) : (["Progressing", "installed"] as const);
    await this.#until(`version ${version} of ${SAMPLE_PACKAGE} is ${text}`, async () => {
      const { metadata, status } = (await this.#admin.get<ClusterExtension>(this.#ref)) ?? {};
      const condition = findCondition(status?.conditions, type);
      const isCurrent = condition?.observedGeneration === metadata?.generation;
      return status?.install?.bundle.version === version && condition?.status === "True" && isCurrent;
    });
    await this.#narrator.quiet();
  }

  async #leftovers(): Promise<string[]> {
    const kinds = ["v1/ConfigMap", "v1/Service", "v1/ServiceAccount", "apps/v1/Deployment"];
    const found = await Promise.all(
      kinds.map(async (text) => {
        const slash = text.lastIndexOf("/");
        const gvk = { apiVersion: text.slice(0, slash), kind: text.slice(slash + 1) };
        const { items } = await this.#admin.list(gvk, {
          namespace: EXTENSION.namespace,
          labelSelector: `olm.operatorframework.io/owner-name=${EXTENSION.name}`,
        });
        return items.map((item) => `${gvk.kind} ${item.metadata.name}`);
      }),
    );
    const { items } = await this.#admin.list(
      { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
      { labelSelector: `${LABEL_PERMISSIONS_FOR}=${EXTENSION.name}` },
    );
    return [...found.flat(), ...items.map(({ metadata }) => `ClusterRole ${metadata.name}`)];
  }

  async #until(what: string, done: () => Promise<boolean>): Promise<void> {
    const began = performance.now();
    await waitUntil(WAIT_MS, `${what}; run: kubectl --kubeconfig ${this.kubeconfig} describe clusterextension`, async () => {
      if (await done()) return true;
      this.#narrator.waiting(`until ${what}`, performance.now() - began);
      this.#signal.throwIfAborted();
      if (this.#failure.text !== undefined) throw new Error(this.#failure.text);
      return false;
    });
  }
}

/** Stores the cause of a failure. Undefined until a server fails. */
interface FailureText {
  text?: string;
}

type Cleanups = (() => Promise<void>)[];

/** Returns the number of objects by schema, such as "1 package, 2 channels, 3 bundles, 1 deprecation". Each line of the response is one object. */
async function countSchemas(url: string, signal: AbortSignal): Promise<string> {
  const counts = ["package", "channel", "bundle", "deprecation"].map(async (noun) => {
    const response = await fetch(`${url}?schema=olm.${noun === "deprecation" ? "deprecations" : noun}`, { signal });
    if (!response.ok) throw new Error(`GET ${response.url}: ${response.status}`);
    const count = (await response.text()).split("\n").length - 1;
    return formatCount(count, noun);
  });
  return (await Promise.all(counts)).join(", ");
}

async function controlPlane(
  kubeconfig: string | undefined,
  workDir: string,
  narrator: Narrator,
  cleanups: Cleanups,
): Promise<DevEndpoints> {
  const say: PrintLine = (line, transient) => (transient ? narrator.progress("build", line) : narrator.print("build", line));
  const registriesConf = join(workDir, "registries.conf");
  if (kubeconfig !== undefined) {
    const registry = await startRegistry(workDir, say);
    cleanups.push(() => registry.stop());
    return { kubeconfig, registry: registry.host, registriesConf };
  }
  const cluster = await startDevCluster({ print: say });
  cleanups.push(() => cluster.stop());
  narrator.print("cluster", `API server ${cluster.server} is ready`);
  return {
    kubeconfig: cluster.kubeconfig,
    registry: cluster.registry.host,
    registriesConf,
    kubectl: cluster.binaries.kubectl?.path,
  };
}

/** Writes the file that prepares another shell: the variables of the environment, and olmv1 and kubectl on the PATH. @returns its path. */
async function writeEnvFile(workDir: string, { kubeconfig, registry, registriesConf, kubectl }: DevEndpoints): Promise<string> {
  const bin = await linkPrograms(workDir, kubectl);
  const file = join(workDir, "env");
  const variables = { KUBECONFIG: kubeconfig, CONTAINERS_REGISTRIES_CONF: registriesConf, REGISTRY: registry };
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${quoteForShell(value)}\n`);
  await writeFile(file, `${lines.join("")}export PATH=${quoteForShell(bin)}:"$PATH"\n`);
  return file;
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

async function stopAll(cleanups: Cleanups): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
