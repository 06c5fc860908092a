import type { KubeObject } from "../api/k8s.ts";
import type { ServiceAccountName } from "../kube/tokens.ts";
import { type AuthFile, type CredentialSource, mergedEntries, readPullSecret } from "../oci/registry/authFile.ts";
import type { Logger } from "../telemetry/log.ts";
import type { GaugeMetric, Metrics } from "../telemetry/metrics.ts";
import { compareText } from "../text/compare.ts";
import { Informer, type ListerWatcher, withoutBulk } from "./informer.ts";

/** A Secret by its place. */
export interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

/** What pull secrets are read with. */
export interface PullSecretsOptions {
  client: ListerWatcher;
  /** The one for everybody, wherever it is. */
  globalSecret: SecretName | undefined;
  /** Whose `imagePullSecrets` count; undefined outside of a cluster. */
  serviceAccount: ServiceAccountName | undefined;
  log: Logger;
  states: GaugeMetric;
}

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
const ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount" } as const;
/** Secrets of a ServiceAccount beyond this many are passed over: each costs a watch. */
const MAX_SECRETS = 64;

/** How a Secret that was asked for is: `unknown` until the API server has told, and as long as it refuses to. */
const STATES = ["used", "missing", "unreadable", "unknown"] as const;
type State = (typeof STATES)[number];

/** Pull secrets by how they are. */
export function pullSecretStates(metrics: Metrics): GaugeMetric {
  return metrics.gauge({
    name: "pull_secrets",
    help: "Pull secrets configured for this program, by state: used, missing, unreadable, or unknown while the API server does not answer",
    labels: ["state"],
    initial: STATES.map((state) => ({ state })),
  });
}

/** One Secret that is followed. */
interface Followed {
  readonly informer: Informer<SecretObject>;
  readonly stop: AbortController;
  /** The API server has answered once, be it with a refusal. */
  asked: boolean;
  state: State;
}

type AccountObject = KubeObject & { imagePullSecrets?: { name?: string }[] };
type SecretObject = KubeObject & { data?: Record<string, string> };

/**
 * The registry credentials in the cluster: of the global pull secret, then of the `imagePullSecrets` of one ServiceAccount in their order; a
 * later one takes the place of an earlier one for the same registry. Exactly these Secrets are followed, and what changes counts from the next
 * pull on. What is missing or unreadable is told in the log and as a metric, without its content, and the rest is used. Nothing is written to disk.
 * @see operator-controller df2c201d internal/shared/controllers/pull_secret_controller.go
 */
export class PullSecrets implements CredentialSource {
  readonly #options: PullSecretsOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #account: Informer<AccountObject> | undefined;
  readonly #settled = Promise.withResolvers<void>();
  readonly #listeners: (() => void)[] = [];
  #accountAsked = false;
  #entries: AuthFile = new Map();
  #signal: AbortSignal | undefined;

  constructor(options: PullSecretsOptions) {
    this.#options = options;
    const { client, serviceAccount: account, log } = options;
    if (!account) return;
    const asked = (): void => {
      this.#accountAsked = true;
      this.#update();
    };
    const selection = { namespace: account.namespace, fieldSelector: `metadata.name=${account.name}` };
    this.#account = new Informer<AccountObject>(
      client,
      ACCOUNT,
      { ...selection, transform: withoutBulk, listed: asked, failed: asked },
      log,
    );
    this.#account.onEvent(() => this.#update());
  }

  /** What is known now. The first time it waits until the API server has told of every Secret, or refused to. */
  async entries(signal: AbortSignal): Promise<AuthFile> {
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      signal.throwIfAborted();
      await Promise.race([this.#settled.promise, aborted.promise]);
      return this.#entries;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Calls `listener` whenever credentials came, changed or went. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Follows the Secrets until `signal` aborts. Call once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    this.#update();
    const stopped = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.all([this.#account?.run(signal), stopped]);
    this.#settled.resolve();
  }

  #update(): void {
    if (!this.#signal || this.#signal.aborted) return;
    const wanted = this.#wanted();
    this.#follow(wanted, this.#signal);
    const files = wanted.map((name) => this.#fileOf(keyOf(name)));
    this.#report();
    const asked = (!this.#account || this.#accountAsked) && [...this.#followed.values()].every((secret) => secret.asked);
    const entries = mergedEntries(files);
    const changed = textOf(entries) !== textOf(this.#entries);
    this.#entries = entries;
    if (asked) this.#settled.resolve();
    if (!changed) return;
    this.#options.log.info({ registries: entries.size }, "pull credentials changed");
    for (const listener of this.#listeners) listener();
  }

  /** In the order in which later ones override earlier ones. */
  #wanted(): SecretName[] {
    const { globalSecret, serviceAccount } = this.#options;
    const account = serviceAccount && this.#account?.get(serviceAccount.name, serviceAccount.namespace);
    const names = (account?.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : []));
    const own = names.slice(0, MAX_SECRETS).map((name) => ({ namespace: serviceAccount?.namespace ?? "", name }));
    return globalSecret ? [globalSecret, ...own] : own;
  }

  /** Begins to follow what is wanted, and ends it for the rest. */
  #follow(wanted: readonly SecretName[], signal: AbortSignal): void {
    const keys = new Set(wanted.map(keyOf));
    for (const [key, { stop }] of this.#followed) {
      if (keys.has(key)) continue;
      stop.abort();
      this.#followed.delete(key);
    }
    for (const { namespace, name } of wanted) {
      const key = keyOf({ namespace, name });
      if (this.#followed.has(key)) continue;
      const stop = new AbortController();
      const asked = (): void => {
        const followed = this.#followed.get(key);
        if (followed?.stop !== stop) return;
        followed.asked = true;
        this.#update();
      };
      const selection = { namespace, fieldSelector: `metadata.name=${name}` };
      const { client, log } = this.#options;
      const informer = new Informer<SecretObject>(
        client,
        SECRET,
        { ...selection, transform: withoutBulk, listed: asked, failed: asked },
        log,
      );
      informer.onEvent(() => this.#update());
      this.#followed.set(key, { informer, stop, asked: false, state: "unknown" });
      void informer.run(AbortSignal.any([signal, stop.signal]));
    }
  }

  /** What a Secret holds; its state becomes known with that, and is told once. */
  #fileOf(key: string): AuthFile {
    const followed = this.#followed.get(key);
    if (!followed?.informer.hasSynced) return new Map();
    const [secret] = followed.informer.list();
    const file = secret && entriesOf(secret);
    const state = secret === undefined ? "missing" : file === undefined ? "unreadable" : "used";
    if (state !== followed.state) {
      const { log } = this.#options;
      followed.state = state;
      if (state === "used") log.info({ secret: key }, "pull secret is used");
      else if (state === "missing") log.warn({ secret: key }, "pull secret does not exist, going on without it");
      else log.warn({ secret: key }, "pull secret holds no docker configuration in .dockerconfigjson or .dockercfg, going on without it");
    }
    return file ?? new Map();
  }

  #report(): void {
    const all = [...this.#followed.values()];
    for (const state of STATES) this.#options.states.set(all.filter((secret) => secret.state === state).length, { state });
  }
}

/** The credentials in a Secret; undefined when there are none to be read. */
function entriesOf({ data = {} }: SecretObject): AuthFile | undefined {
  const { ".dockerconfigjson": config, ".dockercfg": cfg } = data;
  const text = config ?? cfg;
  if (text === undefined) return undefined;
  return readPullSecret(Buffer.from(text, "base64").toString("utf8"), config === undefined ? "cfg" : "config");
}

function keyOf({ namespace, name }: SecretName): string {
  return `${namespace}/${name}`;
}

function textOf(entries: AuthFile): string {
  return JSON.stringify([...entries].sort(([a], [b]) => compareText(a, b)));
}
