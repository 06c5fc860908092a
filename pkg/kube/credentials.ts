import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { KubeConfig } from "@kubernetes/client-node";
import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { parseYaml } from "../golang/yaml.ts";

/** TLS material of connections to one API server. */
export interface TlsMaterial {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
}

/** Connection data of a request: server, TLS material and headers. */
export interface Endpoint {
  /** Base URL of the API server, without a trailing slash; may contain a path prefix. */
  server: string;
  proxyUrl?: string;
  tls: TlsMaterial;
  /** Authorization and impersonation headers. */
  headers: Record<string, string>;
}

/** Maximum age of cached data from files and exec plug-ins, so that a rotated in-cluster token is used before the old one expires. */
const FRESH_MS = 30_000;
/** Minimum interval between reloads after a 401. */
const RELOAD_MS = 5_000;

/**
 * Credentials of one kubeconfig context or of the current Pod. client-node implements loading, exec
 * plug-ins, OIDC and token files, but sends no requests. Results are cached for 30 seconds, so that
 * requests do not read files.
 */
export class Credentials {
  readonly #load: () => KubeConfig;
  readonly #now: () => number;
  #config: KubeConfig;
  #loadedAt: number;
  #endpoint: Promise<Endpoint> | undefined;
  /** The last endpoint that was read since everything was reloaded. */
  #current: Endpoint | undefined;
  #readAt = 0;

  /** @param load reads the kubeconfig; called again after the server has rejected the credential. */
  constructor(load: () => KubeConfig, now: () => number = Date.now) {
    this.#load = load;
    this.#now = now;
    this.#config = load();
    this.#loadedAt = now();
    const problem = findContextProblem(this.#config);
    if (problem !== undefined) throw new Error(`kubeconfig: ${problem}`);
  }

  /**
   * Loads credentials from the kubeconfig at `path`, else from the files in KUBECONFIG, else of the
   * Pod, else from ~/.kube/config.
   * @param context one of its contexts; default: the current one.
   * @throws Error if the file cannot be read, or if the context or its server is missing.
   */
  static fromKubeConfig(path?: string, context?: string): Credentials {
    return new Credentials(() => {
      const config = readConfig(path);
      if (context !== undefined && !config.getContextObject(context)) throw new Error(`kubeconfig: context "${context}" does not exist`);
      if (context !== undefined) config.setCurrentContext(context);
      return config;
    });
  }

  /**
   * Returns the address and certificate authority of a server without any credential, for clients whose every request has a token of its own.
   * @param caFile PEM file with certificate authorities; read again when it changes
   * @throws Error if the file cannot be read
   */
  static forServer({ server, caFile }: { readonly server: string; readonly caFile: string }): Credentials {
    return new Credentials(() => {
      accessSync(caFile, constants.R_OK);
      const config = new KubeConfig();
      config.loadFromClusterAndUser({ name: "server", server, caFile, skipTLSVerify: false }, { name: "none" });
      return config;
    });
  }

  /**
   * Returns the names of all contexts in the kubeconfig of `fromKubeConfig`. @throws Error if it
   * cannot be read.
   */
  static contextNames(path?: string): string[] {
    return readConfig(path)
      .getContexts()
      .map(({ name }) => name);
  }

  /** The name of the current context. */
  get contextName(): string {
    return this.#config.getCurrentContext();
  }

  /** The address of the API server, without reading credentials. */
  get server(): string {
    return this.#config.getCurrentCluster()?.server.replace(/\/+$/, "") ?? "";
  }

  /** Returns the current endpoint, at most 30 seconds old. Concurrent calls share one read. */
  endpoint(): Promise<Endpoint> {
    if (this.#endpoint === undefined || this.#now() - this.#readAt > FRESH_MS) {
      this.#readAt = this.#now();
      const reading = this.#read();
      this.#endpoint = reading;
      void this.#track(reading);
    }
    return this.#endpoint;
  }

  async #track(reading: Promise<Endpoint>): Promise<void> {
    try {
      const endpoint = await reading;
      if (this.#endpoint === reading) this.#current = endpoint;
    } catch {
      if (this.#endpoint === reading) this.#endpoint = undefined;
    }
  }

  /**
   * Call after a 401. If the endpoint of the request is still the current one, the next `endpoint()` reloads everything. Otherwise, a parallel request
   * has already caused the reload.
   * @returns whether the next `endpoint()` may be another one: false if everything was reloaded recently or cannot be reloaded
   */
  refused(used: Endpoint): boolean {
    if (!this.#current || !isDeepStrictEqual(used, this.#current)) return true;
    if (this.#now() - this.#loadedAt < RELOAD_MS) return false;
    this.#loadedAt = this.#now();
    this.#endpoint = undefined;
    try {
      this.#config = this.#load();
    } catch {
      return false; // a partly written file: keep the loaded data
    }
    this.#current = undefined;
    return true;
  }

  async #read(): Promise<Endpoint> {
    const config = this.#config;
    const options: RequestOptions & { servername?: string } = {};
    await config.applyToHTTPSOptions(options);
    const { ca, cert, key, servername, rejectUnauthorized, auth } = options;
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error("kubeconfig: no current cluster");
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value).trim();
    if (auth) headers["authorization"] ??= `Basic ${Buffer.from(auth).toString("base64")}`;
    const tls: TlsMaterial = {};
    if (ca) tls.ca = ca as string | Buffer;
    if (cert) tls.cert = cert as string | Buffer;
    if (key) tls.key = key as string | Buffer;
    if (servername) tls.servername = servername;
    if (rejectUnauthorized !== undefined) tls.rejectUnauthorized = rejectUnauthorized;
    const endpoint: Endpoint = { server: cluster.server.replace(/\/+$/, ""), tls, headers };
    if (cluster.proxyUrl) endpoint.proxyUrl = cluster.proxyUrl;
    return endpoint;
  }
}

/** Returns why no API server can be selected; undefined if the current context has one. */
function findContextProblem(config: KubeConfig): string | undefined {
  const name = config.getCurrentContext();
  if (!name) return "current-context is not set: set it with kubectl config use-context";
  const context = config.getContextObject(name);
  if (!context) return `context ${goQuote(name)} does not exist`;
  const cluster = config.getCluster(context.cluster);
  if (!cluster) return `context ${goQuote(name)} refers to cluster ${goQuote(context.cluster)}, which does not exist`;
  const label = `cluster ${goQuote(context.cluster)} of context ${goQuote(name)}`;
  if (!cluster.server) return `${label} has no server`;
  return cluster.server.startsWith("http:") && !cluster.skipTLSVerify
    ? `server ${cluster.server} of ${label} is not encrypted: use https, or set insecure-skip-tls-verify: true for this cluster`
    : undefined;
}

/** Reads the configuration. Keeps only the first line of a YAML error, because the others quote the file, including credentials. */
function readConfig(path: string | undefined): KubeConfig {
  try {
    return loadConfig(path);
  } catch (err) {
    const [text = ""] = getErrorMessage(err).split("\n");
    throw new Error(/^(no )?kubeconfig: /.test(text) ? text : `kubeconfig: ${text}`, { cause: err });
  }
}

/** Finds the configuration in the same order as controller-runtime. */
function loadConfig(path: string | undefined): KubeConfig {
  const config = new KubeConfig();
  const files = process.env["KUBECONFIG"]?.split(delimiter).filter((file) => file !== "") ?? [];
  if (path !== undefined && path !== "") {
    config.loadFromFile(path);
    addTokenFiles(config, [path]);
  } else if (files.length > 0) {
    config.loadFromDefault();
    addTokenFiles(config, files);
  } else if (process.env["KUBERNETES_SERVICE_HOST"]) config.loadFromCluster();
  else {
    const file = join(homedir(), ".kube", "config");
    if (!existsSync(file)) throw new Error("kubeconfig not found: specify its path, set KUBECONFIG, or run in a Pod");
    config.loadFromFile(file);
  }
  return config;
}

/**
 * client-node ignores `users[].user.tokenFile`, which kubectl supports; its auth provider for token
 * files reads it instead.
 */
function addTokenFiles(config: KubeConfig, files: readonly string[]): void {
  for (const file of files.filter((path) => existsSync(path))) {
    const { users = [] } = (parseYaml(readFileSync(file, "utf8")) ?? {}) as { users?: { name: string; user?: { tokenFile?: string } }[] };
    for (const { name, user } of users) {
      const known = config.getUser(name);
      if (!known || !user?.tokenFile || known.token || known.authProvider) continue;
      const provider = { name: "tokenFile", config: { tokenFile: resolve(dirname(file), user.tokenFile) } };
      config.users = config.users.map((other) => (other === known ? { ...known, authProvider: provider } : other));
    }
  }
}
