import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { findCondition } from "../api/conditions.ts";
import { SYSTEM_NAMESPACE } from "../api/constants.ts";
import type { Condition, KubeObject } from "../api/k8s.ts";
import { STOP_WITH_STDIN } from "../controller/shutdown.ts";
import { parseYamlDocuments } from "../golang/yaml.ts";
import type { Client } from "../kube/client.ts";
import { renderTokenKubeconfig } from "./kubeconfig.ts";
import { findFreePorts } from "./processes.ts";

/** A log line of a server, as JSON of pino. */
export type LogLine = { msg?: string; level?: number } & Record<string, unknown>;

/** Options for starting a server. */
export interface ServerOptions {
  name: ServerName;
  args: readonly string[];
  /**
   * Folder of bundled programs to run; default: those next to this one, or the sources in a
   * checkout.
   */
  programs?: string | undefined;
  /** Environment variables in addition to those of this process. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Path of the full log. */
  logFile: string;
  onLine: (line: LogLine) => void;
  /** Called when the server ends unexpectedly. */
  onExit: (text: string) => void;
}

const STOP_TIMEOUT_MS = 10_000;
const TAIL_LINES = 20;

/** A server as a separate process, as in production. It is ended when this process ends. */
export class ServerProcess {
  readonly #child: ChildProcess;
  #stopping = false;
  #ended: string | undefined;

  constructor(options: ServerOptions) {
    const { name, args, programs, env, logFile, onLine, onExit } = options;
    this.#child = spawn(process.execPath, [findProgram(name, programs), ...args], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...env, [STOP_WITH_STDIN]: "1" },
    });
    const file = createWriteStream(logFile, { flags: "a" });
    const tail: string[] = [];
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on("line", (line) => {
        file.write(`${line}\n`);
        tail.push(line);
        if (tail.length > TAIL_LINES) tail.shift();
        const parsed = parseLogLine(line);
        if (parsed) onLine(parsed);
      });
    }
    this.#child.once("exit", (code, signal) => {
      file.end();
      this.#ended = `${name} ended unexpectedly (${signal ?? `exit code ${code}`}); its last lines:\n${tail.join("\n")}`;
      if (!this.#stopping) onExit(this.#ended);
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** How the server ended, and the last log lines; undefined while it is running. */
  get ended(): string | undefined {
    return this.#ended;
  }

  /** Stops the server and waits until it has ended. Kills it after ten seconds. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }
}

function parseLogLine(line: string): LogLine | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as LogLine) : undefined;
  } catch {
    return undefined;
  }
}

/** Bundled servers are next to a bundled CLI; in a checkout the sources are run. */
function findProgram(name: string, programs: string | undefined): string {
  const bundled = join(programs ?? import.meta.dirname, `${name}.js`);
  return programs !== undefined || existsSync(bundled) ? bundled : join(import.meta.dirname, "../../cmd", name, "main.ts");
}

const UNTIL_POLL_MS = 50;

/**
 * Polls `done` until it returns true; an error of `done` ends the wait.
 * @throws Error that contains `what` after `timeoutMs`.
 */
export async function waitUntil(timeoutMs: number, what: string, done: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await done())) {
    if (Date.now() > deadline) throw new Error(`timed out after ${timeoutMs / 1_000} s waiting until ${what}`);
    await sleep(UNTIL_POLL_MS);
  }
}

const CONFIG = join(import.meta.dirname, "../../config");
const FIELD_MANAGER = "olmv1-dev";
const TOKEN_SECONDS = 3_600;
const RENEW_MS = (TOKEN_SECONDS * 1_000) / 2;
const READY_TIMEOUT_MS = 180_000;

/** Options for running the servers against a cluster. */
export interface InstallationOptions {
  /** Client with permission to install CRDs and RBAC and to create tokens. */
  admin: Client;
  /** The administrator's kubeconfig with the address of the API server. */
  adminKubeconfig: string;
  /** Folder for kubeconfigs, caches and logs. */
  workDir: string;
  /** A registries.conf with registries that use plain HTTP or mirrors. */
  registriesConf?: string;
  /** The signature policy, a policy.json. Default: the machine's own. */
  signaturePolicy?: string | undefined;
  onLine?: (server: ServerName, line: LogLine) => void;
  onExit?: (text: string) => void;
  /** Additional flags for each server, read whenever a server is started. */
  extraArgs?: Partial<Record<ServerName, readonly string[]>>;
  /** Environment variables in addition to those of this process; read at each start of a server. */
  env?: Partial<Record<ServerName, Readonly<Record<string, string>>>>;
  /**
   * Folder of bundled programs to run, or one for each server, read at each start; default: those next to this one, or the sources in a
   * checkout.
   */
  programs?: string | Readonly<Record<ServerName, string>> | undefined;
  /** Folder of the manifests to apply; default: `config` of this checkout. */
  config?: string;
}

/** The servers by program name. */
export type ServerName = "catalogd" | "operator-controller" | "permission-manager";

/** All servers. */
export const INSTALLED_SERVERS: readonly ServerName[] = ["catalogd", "operator-controller", "permission-manager"];

/** The servers, running as separate processes with only the permissions in config. */
export interface Installation {
  /** Base URL of catalogd's content server. */
  readonly catalogs: string;
  readonly servers: Readonly<Record<ServerName, ServerProcess>>;
  /** Base URL of each server's probes and metrics. */
  readonly probes: Readonly<Record<ServerName, string>>;
  /** Starts a stopped server again. */
  restart(server: ServerName): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Applies CRDs, RBAC and admission policies, and starts each server with the token of its own ServiceAccount.
 * @throws Error with the last log lines of a server that does not start, after the others have ended
 */
export async function startInstallation(options: InstallationOptions): Promise<Installation> {
  const { admin, workDir } = options;
  await mkdir(workDir, { recursive: true });
  await installConfig(admin, options.config);
  const tokens = new TokenFiles(admin, workDir);
  await tokens.write();
  const [content, ...probePorts] = await findFreePorts(4);
  const catalogs = `http://127.0.0.1:${content}`;
  const probes: Record<ServerName, string> = {
    catalogd: `http://127.0.0.1:${probePorts[0]}`,
    "operator-controller": `http://127.0.0.1:${probePorts[1]}`,
    "permission-manager": `http://127.0.0.1:${probePorts[2]}`,
  };
  const specific: Record<ServerName, string[]> = {
    catalogd: [
      "--catalogs-server-addr",
      `127.0.0.1:${content}`,
      "--external-address",
      `127.0.0.1:${content}`,
      "--cache-dir",
      join(workDir, "catalogd"),
      "--shutdown-delay",
      "0",
      "--service-account-token",
      tokens.pathOf("catalogd"),
    ],
    "operator-controller": [
      "--cache-path",
      join(workDir, "operator-controller"),
      "--service-account-token",
      tokens.pathOf("operator-controller"),
    ],
    "permission-manager": ["--cache-path", join(workDir, "permission-manager")],
  };
  const processes = new Map<ServerName, ServerProcess>();
  const stop = async (): Promise<void> => {
    tokens.stop();
    await Promise.all([...processes.values()].map((server) => server.stop()));
  };
  const start = async (name: ServerName): Promise<ServerProcess> => {
    const kubeconfig = join(workDir, `${name}.kubeconfig`);
    await writeFile(kubeconfig, await renderTokenKubeconfig(options.adminKubeconfig, tokens.pathOf(name)), { mode: 0o600 });
    const args = [
      "--kubeconfig",
      kubeconfig,
      "--system-namespace",
      SYSTEM_NAMESPACE,
      "--health-probe-bind-address",
      new URL(probes[name]).host,
    ];
    if (options.registriesConf) args.push("--registries-conf", options.registriesConf);
    if (options.signaturePolicy !== undefined) args.push("--signature-policy", options.signaturePolicy);
    const server = new ServerProcess({
      name,
      args: [...args, ...specific[name], ...(options.extraArgs?.[name] ?? [])],
      programs: typeof options.programs === "object" ? options.programs[name] : options.programs,
      env: options.env?.[name],
      logFile: join(workDir, `${name}.log`),
      onLine: (line) => options.onLine?.(name, line),
      onExit: (text) => options.onExit?.(text),
    });
    processes.set(name, server);
    await ready(server, `${probes[name]}/readyz`);
    return server;
  };
  const starts = [start("catalogd"), start("operator-controller"), start("permission-manager")] as const;
  await Promise.allSettled(starts); // so that none starts after the stop
  const [catalogd, operatorController, permissionManager] = await Promise.all(starts).catch(async (err: unknown) => {
    await stop();
    throw err;
  });
  const servers: Record<ServerName, ServerProcess> = {
    catalogd,
    "operator-controller": operatorController,
    "permission-manager": permissionManager,
  };
  return {
    catalogs,
    servers,
    probes,
    async restart(name) {
      await servers[name].stop();
      servers[name] = await start(name);
    },
    stop,
  };
}

/**
 * Applies the prerequisites for servers outside the cluster (namespace, CRDs, RBAC and admission policies of config/). Waits until the CRDs are
 * served, before it applies the default PermissionPolicy.
 */
export async function installConfig(admin: Client, config: string = CONFIG): Promise<void> {
  const applyFolder = async (folder: string): Promise<KubeObject[]> => {
    const texts = await Promise.all((await listManifests(config, folder)).map((path) => readFile(path, "utf8")));
    const objects = texts.flatMap((text) => parseYamlDocuments(text) as KubeObject[]);
    for (const object of objects) await admin.apply(object, { fieldManager: FIELD_MANAGER, force: true });
    return objects;
  };
  await applyFolder("namespace");
  const crds = await applyFolder("crd");
  await waitUntil(READY_TIMEOUT_MS, "the CRDs are established", async () => {
    const live = await Promise.all(crds.map((crd) => admin.get({ apiVersion: crd.apiVersion, kind: crd.kind, name: crd.metadata.name })));
    return live.every(isEstablished);
  });
  for (const folder of ["rbac", "permissions"]) await applyFolder(folder);
}

/** Returns the paths of the manifests in one folder of `config`, sorted by name. */
async function listManifests(config: string, folder: string): Promise<string[]> {
  const files = await readdir(join(config, folder));
  return files
    .filter((file) => file.endsWith(".yaml") && file !== "kustomization.yaml")
    .sort()
    .map((file) => join(config, folder, file));
}

function isEstablished(crd: KubeObject | undefined): boolean {
  const status = crd?.["status"] as { conditions?: Condition[] } | undefined;
  return findCondition(status?.conditions, "Established")?.status === "True";
}

async function ready(server: ServerProcess, url: string): Promise<void> {
  await waitUntil(READY_TIMEOUT_MS, `${url} responds`, async () => {
    if (server.ended) throw new Error(server.ended);
    return (await fetch(url).catch(() => undefined))?.status === 200;
  });
}

/** Keeps one token file per server up to date, like the kubelet for Pods. */
class TokenFiles {
  readonly #admin: Client;
  readonly #dir: string;
  readonly #timer: NodeJS.Timeout;

  constructor(admin: Client, dir: string) {
    this.#admin = admin;
    this.#dir = dir;
    this.#timer = setInterval(
      () => void this.write().catch((err: unknown) => process.stderr.write(`renew tokens: ${String(err)}\n`)),
      RENEW_MS,
    );
    this.#timer.unref();
  }

  pathOf(name: ServerName): string {
    return join(this.#dir, `${name}.token`);
  }

  async write(): Promise<void> {
    for (const name of INSTALLED_SERVERS) {
      const account = `${name}-controller-manager`;
      const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/${account}/token`;
      const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: TOKEN_SECONDS } };
      const response = (await this.#admin.raw("POST", path, body)) as { status?: { token?: string } };
      const token = response.status?.token;
      if (!token) throw new Error(`token request for ServiceAccount ${SYSTEM_NAMESPACE}/${account} returned no token`);
      await writeFile(`${this.pathOf(name)}.new`, token, { mode: 0o600 });
      await rename(`${this.pathOf(name)}.new`, this.pathOf(name));
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
