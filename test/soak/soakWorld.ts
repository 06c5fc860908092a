import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { API_VERSION, CLUSTER_CATALOG } from "../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { mapInParallel } from "../../pkg/async/concurrency.ts";
import { type DevCluster, startDevCluster } from "../../pkg/devcluster/devCluster.ts";
import type { ServerName } from "../../pkg/devcluster/installation.ts";
import { Client } from "../../pkg/kube/client.ts";
import { buildPrograms } from "../bench/programs.ts";
import { eventually } from "../support/eventually.ts";
import { RegistryProxy } from "../support/registryProxy.ts";
import { expiredCertificate, serverCertificate } from "../support/serverCertificate.ts";
import { TcpForwarder } from "../support/tcpForwarder.ts";
import { World } from "../support/world.ts";
import { type ClusterState, readClusterState, USER_DATA } from "./clusterState.ts";
import { CATALOGS, getExtension, type SoakPackage, SoakPackages } from "./soakPackages.ts";

const CATALOGD_HOST = "127.0.0.1";
const AT_ONCE = 8;
/** How long a request may fail before the run reports it, because faults interrupt the API server. */
const RETRY_MS = 120_000;
/** How long an uninstall may take: a controller that has just started reconciles all extensions at the same time. */
const REMOVE_MS = 300_000;

/** Options of a world. */
export interface SoakWorldOptions {
  readonly extensions: number;
  /** Folder for the caches of the programs. */
  readonly disk: string;
  readonly say: (line: string) => void;
}

/**
 * A control plane, a registry and the bundled programs with a place for each fault: a proxy in front of the registry, a forwarder in front of
 * the API server, a disk for caches, and files for the certificate of catalogd.
 */
export class SoakWorld implements AsyncDisposable {
  readonly dev: DevCluster;
  readonly client: Client;
  readonly registry: RegistryProxy;
  readonly network: TcpForwarder;
  readonly disk: string;
  readonly packages: SoakPackages;
  /** Environment of each program, read at its start. */
  readonly env: Partial<Record<ServerName, Readonly<Record<string, string>>>>;
  readonly #world: World;

  private constructor(parts: Pick<SoakWorld, "dev" | "client" | "registry" | "network" | "disk" | "packages" | "env">, world: World) {
    this.dev = parts.dev;
    this.client = parts.client;
    this.registry = parts.registry;
    this.network = parts.network;
    this.disk = parts.disk;
    this.packages = parts.packages;
    this.env = parts.env;
    this.#world = world;
  }

  static async start({ extensions, disk, say }: SoakWorldOptions): Promise<SoakWorld> {
    const programs = await buildPrograms(say)();
    say("starting a control plane");
    const dev = await startDevCluster({ print: say });
    const client = Client.fromKubeConfig(dev.kubeconfig);
    const registry = await RegistryProxy.start(dev.registry.host);
    const network = await TcpForwarder.start(dev.server);
    const kubeconfig = join(disk, "forwarded.kubeconfig");
    await writeFile(kubeconfig, (await readFile(dev.kubeconfig, "utf8")).replace(dev.server, network.url), { mode: 0o600 });
    const packages = new SoakPackages(extensions, client, { host: dev.registry.host, insecure: true });
    const env: SoakWorld["env"] = {};
    const certificate = join(disk, "certificate");
    await writeCertificate(certificate, await serverCertificate(CATALOGD_HOST));
    const authorities = ["--catalogd-cas-dir", join(certificate, "ca")];
    const world = await World.start(
      { client, kubeconfig, registry: { host: registry.host, insecure: true }, programs },
      {
        env,
        extraArgs: {
          catalogd: [
            "--cache-dir",
            join(disk, "catalogd"),
            "--tls-cert",
            join(certificate, "tls.crt"),
            "--tls-key",
            join(certificate, "tls.key"),
            "--metrics-bind-address=0",
          ],
          "operator-controller": ["--cache-path", join(disk, "operator-controller"), ...authorities],
          "permission-manager": ["--cache-path", join(disk, "permission-manager"), ...authorities],
        },
      },
    );
    return new SoakWorld({ dev, client, registry, network, disk, packages, env }, world);
  }

  /** Ends of programs that the run did not cause. */
  get unexpectedEnds(): readonly string[] {
    return this.#world.unexpectedEnds;
  }

  pid(program: ServerName): number | undefined {
    return this.#world.installation.servers[program].pid;
  }

  /** Base URL of the metrics of a program. */
  probes(program: ServerName): string {
    return this.#world.installation.probes[program];
  }

  /** Kills a program with SIGKILL, and starts it again. */
  async kill(program: ServerName): Promise<void> {
    const server = this.#world.installation.servers[program];
    const known = this.#world.unexpectedEnds.length;
    process.kill(server.pid ?? 0, "SIGKILL");
    await eventually(() => {
      if (server.ended === undefined) throw new Error(`${program} still runs`);
    });
    this.#world.unexpectedEnds.splice(known, 1);
    await this.#world.installation.restart(program);
  }

  /** Stops a program with SIGTERM, and starts it again with its environment. */
  restart(program: ServerName): Promise<void> {
    return this.#world.installation.restart(program);
  }

  /** Replaces the certificate of catalogd, by one that has expired if `isExpired`. */
  async renewCertificate(isExpired: boolean): Promise<void> {
    await writeCertificate(join(this.disk, "certificate"), await (isExpired ? expiredCertificate : serverCertificate)(CATALOGD_HOST));
  }

  /** Calls `request` until it succeeds, by default for two minutes. */
  retry<T>(request: () => Promise<T>, timeoutMs = RETRY_MS): Promise<T> {
    return eventually(request, { timeoutMs, intervalMs: 1_000 });
  }

  apply(object: KubeObject): Promise<KubeObject> {
    return this.retry(() => this.#world.apply(object));
  }

  /** Deletes an object. @returns when it no longer exists */
  async remove(ref: ObjectRef): Promise<void> {
    await this.retry(async () => {
      await this.client.delete(ref);
      if (await this.client.get(ref)) throw new Error(`${ref.kind} ${ref.name} still exists`);
    }, REMOVE_MS);
  }

  readState(): Promise<ClusterState> {
    return this.retry(() => readClusterState(this.client, this.packages.all));
  }

  /** Pushes the next version of packages. */
  release(packages: readonly SoakPackage[]): Promise<void> {
    return this.packages.release(packages, (request) => this.retry(request));
  }

  /** Publishes the current versions of a catalog. */
  async publish(catalog: number): Promise<void> {
    const ref = await this.packages.pushCatalog(catalog);
    const spec = { source: { type: "Image", image: { ref } } };
    await this.apply({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG, metadata: { name: `soak-${catalog}` }, spec });
  }

  /** Creates catalogs, extensions, and data of users in each namespace. */
  async populate(): Promise<void> {
    const { all } = this.packages;
    await this.release(all);
    for (let catalog = 0; catalog < CATALOGS; catalog++) await this.publish(catalog);
    await mapInParallel(all, AT_ONCE, async (one) => {
      await this.apply(getExtension(one));
      await this.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: USER_DATA, namespace: one.name }, data: { kept: "yes" } });
    });
  }

  /** Creates custom resources of the packages with a CRD, which must be installed. */
  async createCustomResources(): Promise<void> {
    const create = async ({ tiny, name: namespace }: SoakPackage): Promise<void> => {
      for (const name of ["first", "second"])
        await this.apply({ ...tiny.customKind, metadata: { name, namespace }, spec: { value: name } });
    };
    await mapInParallel(
      this.packages.all.filter(({ tiny }) => tiny.hasCrd),
      AT_ONCE,
      create,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world.stop();
    await this.client.close();
    await this.network[Symbol.asyncDispose]();
    await this.registry[Symbol.asyncDispose]();
    await this.dev.stop();
  }
}

/** Writes a certificate, its key, and the authority that operator-controller trusts. */
async function writeCertificate(folder: string, { cert, key }: { cert: string; key: string }): Promise<void> {
  await mkdir(join(folder, "ca"), { recursive: true });
  await writeFile(join(folder, "ca/ca.crt"), cert);
  await writeFile(join(folder, "tls.key"), key, { mode: 0o600 });
  await writeFile(join(folder, "tls.crt"), cert);
}
