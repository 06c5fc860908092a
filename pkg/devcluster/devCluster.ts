import { constants, createWriteStream } from "node:fs";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, type Logger } from "../telemetry/log.ts";
import { type Binaries, findBinaries, type PrintLine } from "./binaries.ts";
import { isAlive } from "./binaryCache.ts";
import { Component } from "./component.ts";
import { type ClusterPlan, type ComponentName, planCluster } from "./plan.ts";
import { type PodReadiness, PodSimulation } from "./podSimulation.ts";

/** Options of a control plane; all are optional. */
export interface DevClusterOptions {
  /** Folder for data, certificates and logs, kept for the next start. Default: a temporary folder that `stop` removes. */
  readonly dataDir?: string;
  /**
   * Data folder of a stopped control plane. A start with a copy of its state and certificates takes a quarter less processor time, because the API
   * server finds the default roles and namespaces. Default: a new state.
   */
  readonly template?: string;
  /** Default true. */
  readonly auditLog?: boolean;
  /** Determines the outcome of Pods without an annotation. Default: all become ready. */
  readonly podReadiness?: PodReadiness;
  /** Default: `findBinaries`. */
  readonly binaries?: Binaries;
  /** Reports the progress of a build. Default: lines on standard error. */
  readonly print?: PrintLine;
}

/** A running control plane on loopback with ephemeral ports. It is ended when this process ends. */
export interface DevCluster {
  /** For example "https://127.0.0.1:40123". */
  readonly server: string;
  /** Path of the administrator's kubeconfig (a client certificate, group system:masters). */
  readonly kubeconfig: string;
  /** The image registry: plain HTTP without credentials, for example {host: "127.0.0.1:40124"}. */
  readonly registry: { readonly host: string };
  /**
   * Path of the audit log (JSON lines, level Metadata, written before the response is sent); empty
   * if disabled.
   */
  readonly auditLog: string;
  /** Folder of the components' logs, one file per component. */
  readonly logs: string;
  readonly dataDir: string;
  readonly binaries: Binaries;
  /** Replaces the rule for Pods without an annotation, including existing ones. */
  setPodReadiness(readiness: PodReadiness): void;
  /** Process id of a component. */
  pid(name: ComponentName): number | undefined;
  /** Restarts one component on its port and waits until it responds. */
  restart(name: ComponentName): Promise<void>;
  /**
   * Compacts etcd, which otherwise happens every five minutes. After a restart of the API server, watches cannot start from a resourceVersion before
   * the compaction.
   */
  compact(): Promise<void>;
  /** Ends all processes and removes a temporary data folder. Further calls do nothing. */
  stop(): Promise<void>;
}

const TEMPORARY_PREFIX = "olmv1-devcluster-";
/** Folders of the state of etcd and of the certificates, whose authority and keys the state contains. */
const STATE_FOLDERS = ["etcd", "pki"];
const READY_TIMEOUT_MS = 180_000;
const START_ATTEMPTS = 3;

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and an image registry, and waits until they respond, which takes about 4 s.
 * @throws NoBinariesError if the programs are not found; Error with the end of the log of a component that fails
 */
export async function startDevCluster(options: DevClusterOptions = {}): Promise<DevCluster> {
  const say: PrintLine = options.print ?? ((line) => void process.stderr.write(`${line}\n`));
  const binaries = options.binaries ?? (await findBinaries(say));
  if (options.dataDir === undefined) await removeLeftOvers();
  for (let attempt = 1; ; attempt++) {
    const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), `${TEMPORARY_PREFIX}${process.pid}-`)));
    if (options.template !== undefined) await copyState(options.template, dataDir);
    const plan = await planCluster(binaries, dataDir, options.auditLog ?? true);
    const log = createLogger({
      component: "pod-simulation",
      destination: createWriteStream(join(plan.logs, "pod-simulation.log"), { flags: "a" }),
    });
    const cluster = new RunningCluster(binaries, dataDir, options.dataDir === undefined, plan, log);
    try {
      if (options.podReadiness) cluster.setPodReadiness(options.podReadiness);
      await cluster.start();
      return cluster;
    } catch (err) {
      const portTaken = err instanceof Error && err.message.includes("address already in use");
      await cluster.end({ keepData: !portTaken });
      if (!portTaken || attempt === START_ATTEMPTS) throw err;
    }
  }
}

class RunningCluster implements DevCluster {
  readonly binaries: Binaries;
  readonly dataDir: string;
  readonly #temporary: boolean;
  readonly #plan: ClusterPlan;
  readonly #components = new Map<ComponentName, Component>();
  readonly #simulation: PodSimulation;
  readonly #stopping = new AbortController();
  #simulating: Promise<void> = Promise.resolve();

  constructor(binaries: Binaries, dataDir: string, temporary: boolean, plan: ClusterPlan, log: Logger) {
    this.binaries = binaries;
    this.dataDir = dataDir;
    this.#temporary = temporary;
    this.#plan = plan;
    this.#simulation = new PodSimulation(plan.keeper, log);
  }

  get server(): string {
    return this.#plan.server;
  }

  get kubeconfig(): string {
    return this.#plan.kubeconfig;
  }

  get registry(): { host: string } {
    return { host: this.#plan.registryHost };
  }

  get auditLog(): string {
    return this.#plan.auditLog;
  }

  get logs(): string {
    return this.#plan.logs;
  }

  /** The API server waits for etcd itself, but the controller manager exits after 10 s without an API server. */
  async start(): Promise<void> {
    await Promise.all([this.#run("etcd"), this.#run("registry"), this.#run("kube-apiserver")]);
    await this.#run("kube-controller-manager");
    this.#simulating = this.#simulation.run(this.#stopping.signal);
  }

  setPodReadiness(readiness: PodReadiness): void {
    this.#simulation.setReadiness(readiness);
  }

  pid(name: ComponentName): number | undefined {
    return this.#components.get(name)?.pid;
  }

  async restart(name: ComponentName): Promise<void> {
    await this.#components.get(name)?.stop();
    await this.#run(name);
  }

  compact(): Promise<void> {
    return this.#plan.compact();
  }

  stop(): Promise<void> {
    return this.end({ keepData: false });
  }

  /** Keeps the folder after a failed start, because of its logs. */
  async end({ keepData }: { keepData: boolean }): Promise<void> {
    this.#stopping.abort();
    await this.#simulating;
    await this.#plan.close();
    await Promise.all([...this.#components.values()].map((component) => component.stop()));
    if (this.#temporary && !keepData) await rm(this.dataDir, { recursive: true, force: true, maxRetries: 3 });
  }

  async #run(name: ComponentName): Promise<void> {
    const component = Component.start(this.#plan.specs[name]);
    this.#components.set(name, component);
    await component.ready(READY_TIMEOUT_MS);
  }
}

/** Copies the parts of a data folder that do not depend on ports. */
async function copyState(from: string, to: string): Promise<void> {
  for (const part of STATE_FOLDERS) await cp(join(from, part), join(to, part), { recursive: true, mode: constants.COPYFILE_FICLONE });
}

/** Removes temporary folders that killed processes left over. */
async function removeLeftOvers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(new RegExp(`^${TEMPORARY_PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (pid > 0 && !isAlive(pid)) await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}
