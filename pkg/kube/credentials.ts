import { existsSync, readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { messageOf } from "../errors/errors.ts";
import { parseYaml } from "../golang/yaml.ts";

/** TLS material of connections to one API server. */
export interface TlsMaterial {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
}

/** What a request needs to know: where, over which TLS, with which headers. */
export interface Endpoint {
  /** Base URL of the API server, without a trailing slash; may hold a path prefix. */
  server: string;
  proxyUrl?: string;
  tls: TlsMaterial;
  /** Authorization and impersonation headers. */
  headers: Record<string, string>;
}

/** Files and exec plug-ins are asked again after this long; a rotated in-cluster token is seen in time. */
const FRESH_MS = 30_000;
/** A 401 makes everything be loaded again, but not more often than this. */
const RELOAD_MS = 5_000;

/**
 * Credentials of one kubeconfig context or of the Pod we run in. Loading, exec plug-ins, OIDC and token files are client-node's;
 * it never sees a request. Results are kept for half a minute, so that a request reads no files.
 */
export class Credentials {
  readonly #load: () => KubeConfig;
  readonly #now: () => number;
  #config: KubeConfig;
  #loadedAt: number;
  #endpoint: Promise<Endpoint> | undefined;
  #readAt = 0;

  /** @param load reads the kubeconfig; called again after the server has refused the credential. */
  constructor(load: () => KubeConfig, now: () => number = Date.now) {
    this.#load = load;
    this.#now = now;
    this.#config = load();
    this.#loadedAt = now();
    if (!this.#config.getCurrentCluster()?.server) throw new Error("kubeconfig: the current context names no cluster with a server");
  }

  /**
   * Credentials from the kubeconfig at `path`, else from the files in KUBECONFIG, else those of the Pod, else ~/.kube/config.
   * @param context one of its contexts; without it the current one.
   * @throws Error when the file cannot be read, has no such context, or names no server.
   */
  static fromKubeConfig(path?: string, context?: string): Credentials {
    return new Credentials(() => {
      const config = readConfig(path);
      if (context !== undefined && !config.getContextObject(context)) throw new Error(`kubeconfig: there is no context "${context}"`);
      if (context !== undefined) config.setCurrentContext(context);
      return config;
    });
  }

  /** The names of all contexts of the kubeconfig that `fromKubeConfig` would read. @throws Error when it cannot be read. */
  static contextNames(path?: string): string[] {
    return readConfig(path)
      .getContexts()
      .map(({ name }) => name);
  }

  /** The endpoint as of now, at most half a minute old. Concurrent calls share one read. */
  endpoint(): Promise<Endpoint> {
    if (this.#endpoint === undefined || this.#now() - this.#readAt > FRESH_MS) {
      this.#readAt = this.#now();
      const reading = this.#read();
      this.#endpoint = reading;
      reading.catch(() => {
        if (this.#endpoint === reading) this.#endpoint = undefined;
      });
    }
    return this.#endpoint;
  }

  /** Call after a 401: the next `endpoint()` loads everything anew. False when that was done only just now or cannot be done. */
  refused(): boolean {
    if (this.#now() - this.#loadedAt < RELOAD_MS) return false;
    this.#loadedAt = this.#now();
    this.#endpoint = undefined;
    try {
      this.#config = this.#load();
      return true;
    } catch {
      return false; // half-written file: what was loaded stays in use
    }
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

/** What a YAML parser says after its first line quotes the file, credentials included. */
function readConfig(path: string | undefined): KubeConfig {
  try {
    return configFrom(path);
  } catch (err) {
    const [text = ""] = messageOf(err).split("\n");
    throw new Error(/^(no )?kubeconfig: /.test(text) ? text : `kubeconfig: ${text}`, { cause: err });
  }
}

/** The places of controller-runtime, in its order. */
function configFrom(path: string | undefined): KubeConfig {
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
    if (!existsSync(file)) throw new Error("no kubeconfig: give its path, set KUBECONFIG, or run in a Pod");
    config.loadFromFile(file);
  }
  return config;
}

/** client-node passes over `users[].user.tokenFile`, which kubectl reads; it can read such a file through an auth provider of its own. */
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
