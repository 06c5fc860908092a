import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { pathToFileURL } from "node:url";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { Informer } from "../../pkg/controller/informer.ts";
import type { Installation } from "../../pkg/devcluster/installation.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { eventually } from "./eventually.ts";
import { serverCertificate } from "./serverCertificate.ts";

const MANAGERS = join(import.meta.dirname, "../../config/manager");
const PRELOAD = pathToFileURL(join(import.meta.dirname, "podHostname.ts")).href;
const SERVERS = ["catalogd", "operator-controller"] as const;
type DeployedName = (typeof SERVERS)[number];
const LABEL = "app.kubernetes.io/name";

/** The servers to deploy, with the flags and variables of their next start. */
export interface DeployedServersOptions {
  readonly client: Client;
  readonly installation: Installation;
  readonly workDir: string;
  readonly flags: Readonly<Record<DeployedName | "permission-manager", string[]>>;
  readonly env: Readonly<Record<DeployedName, Record<string, string>>>;
}

/**
 * Makes servers that are processes look like Deployments: with simulated Pods, a Service for their metrics, and a leader. Each process runs in the name
 * of one Pod. After the deletion of this Pod, it restarts in the name of another one, like a replica that takes over.
 */
export class DeployedServers implements AsyncDisposable {
  readonly #options: DeployedServersOptions;
  readonly #pods: Informer;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** The restarts of each server, one after another. */
  readonly #restarts = new Map<string, Promise<void>>();
  readonly #failures: unknown[] = [];

  private constructor(options: DeployedServersOptions) {
    this.#options = options;
    const log = createLogger({ component: "deployed-servers", level: "silent" });
    this.#pods = new Informer(
      options.client,
      { apiVersion: "v1", kind: "Pod" },
      { namespace: SYSTEM_NAMESPACE, labelSelector: LABEL },
      log,
    );
    this.#pods.onEvent(({ object }) => this.#settle(object.metadata.labels?.[LABEL] ?? ""));
    this.#running = this.#pods.run(this.#stop.signal);
  }

  /**
   * Restarts the servers with leader election, and with content and metrics over HTTPS. Creates
   * their Deployments and Services. From then on, this process trusts the servers, so that
   * scenarios can read the content of catalogs.
   */
  static async start(options: DeployedServersOptions): Promise<DeployedServers> {
    const { client, installation, workDir, flags } = options;
    const { cert, key } = await serverCertificate("localhost", "127.0.0.1");
    const authorities = join(workDir, "authorities");
    await mkdir(authorities);
    const [certFile, keyFile] = [join(authorities, "localhost.crt"), join(workDir, "localhost.key")];
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
    setDefaultCACertificates([...getCACertificates("default"), cert]);
    const ports = await findFreePorts(SERVERS.length);
    for (const [at, server] of SERVERS.entries()) {
      const metrics = ["--tls-cert", certFile, "--tls-key", keyFile, "--metrics-bind-address", `127.0.0.1:${ports[at]}`];
      flags[server].push("--leader-elect", ...metrics);
      for (const object of parseYamlDocuments(await readFile(join(MANAGERS, `${server}.yaml`), "utf8")) as KubeObject[]) {
        if (object.kind === "Service") Object.assign(object, { spec: toLocalService(ports[at] ?? 0) });
        if (["Deployment", "Service"].includes(object.kind)) await client.apply(object, { fieldManager: "test", force: true });
      }
    }
    for (const server of ["operator-controller", "permission-manager"] as const) flags[server].push("--catalogd-cas-dir", authorities);
    await installation.restart("permission-manager");
    const deployed = new DeployedServers(options);
    await eventually(async () => {
      await deployed.settled();
      for (const server of SERVERS) if (options.env[server]["POD_NAME"] === undefined) throw new Error(`${server} has no Pod`);
    });
    return deployed;
  }

  /** Waits until the restarts in progress have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#restarts.values());
  }

  /** Stops following the Pods. @throws the first error of a restart */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.settled();
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  #settle(label: string): void {
    const server = SERVERS.find((one) => one === label);
    if (!server || this.#stop.signal.aborted) return;
    const before = this.#restarts.get(server) ?? Promise.resolve();
    this.#restarts.set(
      server,
      before.then(() => this.#follow(server)).catch((err: unknown) => void this.#failures.push(err)),
    );
  }

  /** Restarts a server in the name of another Pod if its own Pod is gone. */
  async #follow(server: DeployedName): Promise<void> {
    const { env, installation } = this.#options;
    const pods = this.#pods
      .list()
      .filter(({ metadata }) => metadata.labels?.[LABEL] === server && metadata.deletionTimestamp === undefined);
    const [next] = pods.map(({ metadata }) => metadata.name).toSorted();
    if (next === undefined || pods.some(({ metadata }) => metadata.name === env[server]["POD_NAME"])) return;
    const { NODE_OPTIONS = "" } = env[server];
    env[server]["POD_NAME"] = next;
    env[server]["NODE_OPTIONS"] = NODE_OPTIONS.includes(PRELOAD) ? NODE_OPTIONS : `${NODE_OPTIONS} --import ${PRELOAD}`;
    await installation.restart(server);
  }
}

/** A Service that resolves to this machine. */
function toLocalService(port: number): object {
  return { type: "ExternalName", externalName: "localhost", ports: [{ name: "metrics", port }] };
}
