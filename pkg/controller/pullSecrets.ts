import type { KubeObject } from "../api/k8s.ts";
import { rejectOnAbort, waitForAbort } from "../async/concurrency.ts";
import type { ServiceAccountName } from "../kube/tokens.ts";
import { type AuthFile, type CredentialSource, mergeAuthEntries, readPullSecret } from "../oci/registry/authFile.ts";
import type { Logger } from "../telemetry/log.ts";
import type { GaugeMetric, Metrics } from "../telemetry/metrics.ts";
import { compareText } from "../text/compare.ts";
import { Informer, type ListerWatcher, withoutBulk } from "./informer.ts";

/** Namespace and name of a Secret. */
export interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

/** Dependencies and options of PullSecrets. */
export interface PullSecretsOptions {
  client: ListerWatcher;
  /** The global pull secret, which can be in any namespace. */
  globalSecret: SecretName | undefined;
  /** ServiceAccount whose `imagePullSecrets` are used; undefined outside of a cluster. */
  serviceAccount: ServiceAccountName | undefined;
  log: Logger;
  states: GaugeMetric;
}

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
const ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount" } as const;
/** Maximum number of Secrets of a ServiceAccount, because each needs a watch. Further Secrets are ignored. */
const MAX_SECRETS = 64;

/** State of a configured Secret. `unknown` until the API server responds, and while it denies access. */
const STATES = ["used", "missing", "unreadable", "unknown"] as const;
type State = (typeof STATES)[number];

/** Registers a gauge with the number of pull secrets by state. */
export function createPullSecretGauge(metrics: Metrics): GaugeMetric {
  return metrics.gauge({
    name: "pull_secrets",
    help: "Number of pull secrets configured for this server, by state: used, missing, unreadable, or unknown (no response from the API server)",
    labels: ["state"],
    initial: STATES.map((state) => ({ state })),
  });
}

/** A watched Secret. */
interface Followed {
  readonly informer: Informer<SecretObject>;
  readonly stop: AbortController;
  /** Whether the API server has responded at least once, even with a denial. */
  hasResponse: boolean;
  state: State;
}

type AccountObject = KubeObject & { imagePullSecrets?: { name?: string }[] };
type SecretObject = KubeObject & { data?: Record<string, string> };

/**
 * The registry credentials in the cluster: from the global pull secret, then from the `imagePullSecrets` of one
 * ServiceAccount, in order. For the same registry, later credentials override earlier ones. Watches only these
 * Secrets. Changes apply to the next pull. Skips missing and unreadable Secrets, and reports them in the log and
 * as a metric, without their content. Writes nothing to disk.
 * @see operator-controller df2c201d internal/shared/controllers/pull_secret_controller.go
 */
export class PullSecrets implements CredentialSource {
  readonly #options: PullSecretsOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #account: Informer<AccountObject> | undefined;
  readonly #settled = Promise.withResolvers<void>();
  readonly #listeners: (() => void)[] = [];
  #hasAccountResponse = false;
  #entries: AuthFile = new Map();
  #signal: AbortSignal | undefined;

  constructor(options: PullSecretsOptions) {
    this.#options = options;
    const { client, serviceAccount: account, log } = options;
    if (!account) return;
    const update = (): void => {
      this.#hasAccountResponse = true;
      this.#update();
    };
    const selection = { namespace: account.namespace, fieldSelector: `metadata.name=${account.name}` };
    this.#account = new Informer<AccountObject>(
      client,
      ACCOUNT,
      { ...selection, transform: withoutBulk, onList: update, onError: update },
      log,
    );
    this.#account.onEvent(() => this.#update());
  }

  /** Returns the current credentials. Waits until the API server has responded at least once for every Secret. */
  async entries(signal: AbortSignal): Promise<AuthFile> {
    await rejectOnAbort(this.#settled.promise, signal);
    return this.#entries;
  }

  /** Calls `listener` after each change of credentials. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Watches the Secrets until `signal` aborts. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    this.#update();
    await Promise.all([this.#account?.run(signal), waitForAbort(signal)]);
    this.#settled.resolve();
  }

  #update(): void {
    if (!this.#signal || this.#signal.aborted) return;
    const names = this.#listNames();
    this.#watch(names, this.#signal);
    const files = names.map((name) => this.#readFile(formatKey(name)));
    this.#report();
    const hasResponses = (!this.#account || this.#hasAccountResponse) && [...this.#followed.values()].every((secret) => secret.hasResponse);
    const entries = mergeAuthEntries(files);
    const changed = serialize(entries) !== serialize(this.#entries);
    this.#entries = entries;
    if (hasResponses) this.#settled.resolve();
    if (!changed) return;
    this.#options.log.info({ registries: entries.size }, "pull credentials changed");
    for (const listener of this.#listeners) listener();
  }

  /** Returns the configured Secrets in ascending precedence. */
  #listNames(): SecretName[] {
    const { globalSecret, serviceAccount } = this.#options;
    const account = serviceAccount && this.#account?.get(serviceAccount.name, serviceAccount.namespace);
    const names = (account?.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : []));
    const own = names.slice(0, MAX_SECRETS).map((name) => ({ namespace: serviceAccount?.namespace ?? "", name }));
    return globalSecret ? [globalSecret, ...own] : own;
  }

  /** Starts watches for these Secrets and ends all other watches. */
  #watch(secrets: readonly SecretName[], signal: AbortSignal): void {
    const keys = new Set(secrets.map(formatKey));
    for (const [key, { stop }] of this.#followed) {
      if (keys.has(key)) continue;
      stop.abort();
      this.#followed.delete(key);
    }
    for (const { namespace, name } of secrets) {
      const key = formatKey({ namespace, name });
      if (this.#followed.has(key)) continue;
      const stop = new AbortController();
      const update = (): void => {
        const followed = this.#followed.get(key);
        if (followed?.stop !== stop) return;
        followed.hasResponse = true;
        this.#update();
      };
      const selection = { namespace, fieldSelector: `metadata.name=${name}` };
      const { client, log } = this.#options;
      const informer = new Informer<SecretObject>(
        client,
        SECRET,
        { ...selection, transform: withoutBulk, onList: update, onError: update },
        log,
      );
      informer.onEvent(() => this.#update());
      this.#followed.set(key, { informer, stop, hasResponse: false, state: "unknown" });
      void informer.run(AbortSignal.any([signal, stop.signal]));
    }
  }

  /** Returns the credentials in a Secret. Logs a change of its state once. */
  #readFile(key: string): AuthFile {
    const followed = this.#followed.get(key);
    if (!followed?.informer.hasSynced) return new Map();
    const [secret] = followed.informer.list();
    const file = secret && parseEntries(secret);
    const state = secret === undefined ? "missing" : file === undefined ? "unreadable" : "used";
    if (state !== followed.state) {
      const { log } = this.#options;
      followed.state = state;
      if (state === "used") log.info({ secret: key }, "using pull secret");
      else if (state === "missing") log.warn({ secret: key }, "pull secret does not exist, continuing without it");
      else
        log.warn({ secret: key }, "pull secret contains no docker configuration in .dockerconfigjson or .dockercfg, continuing without it");
    }
    return file ?? new Map();
  }

  #report(): void {
    const all = [...this.#followed.values()];
    for (const state of STATES) this.#options.states.set(all.filter((secret) => secret.state === state).length, { state });
  }
}

/** Returns the credentials in a Secret; undefined if it contains none or they are malformed. */
function parseEntries({ data = {} }: SecretObject): AuthFile | undefined {
  const { ".dockerconfigjson": config, ".dockercfg": cfg } = data;
  const text = config ?? cfg;
  if (text === undefined) return undefined;
  return readPullSecret(Buffer.from(text, "base64").toString("utf8"), config === undefined ? "cfg" : "config");
}

function formatKey({ namespace, name }: SecretName): string {
  return `${namespace}/${name}`;
}

function serialize(entries: AuthFile): string {
  return JSON.stringify([...entries].sort(([a], [b]) => compareText(a, b)));
}
