import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { newProblem } from "../../api/problems.ts";
import { untilAborted } from "../../async/concurrency.ts";
import { messageOf, TerminalError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, isNamespaceMissing, isNotFound, KubeError } from "../../kube/errors.ts";
import type { ServiceAccountTokens } from "../../kube/tokens.ts";
import { type IsOver, WaitingError } from "../state/waiting.ts";
import type { WatchIdentity } from "../watches/streamPool.ts";
import type { MayWatchAll } from "./ownRules.ts";

/** What stands in for an extension that names no ServiceAccount: nobody, or the controller itself. */
export type ServiceAccountFallback = "deny" | "controller";

/** The named ServiceAccount, or its namespace, does not exist. */
export class ServiceAccountMissing extends WaitingError {}

/** An extension's ServiceAccount and the client that is it. */
interface Scoped {
  namespace: string;
  account: string;
  client: Client;
}

const FAILED_VALIDATION = "operation cannot proceed due to the following validation error(s): ";

/**
 * Gives each extension a client that is its ServiceAccount: bundle content is read, written and deleted through it only.
 * The controller's own rights end at minting that ServiceAccount's token.
 */
export class Identities {
  readonly #client: Client;
  readonly #tokens: ServiceAccountTokens;
  readonly #fallback: ServiceAccountFallback;
  /** By name of the extension. */
  readonly #scoped = new Map<string, Scoped>();

  constructor(client: Client, tokens: ServiceAccountTokens, fallback: ServiceAccountFallback) {
    this.#client = client;
    this.#tokens = tokens;
    this.#fallback = fallback;
  }

  /**
   * The client that acts as the extension's ServiceAccount; a token has been minted when this returns.
   * @throws TerminalError Blocked when the extension names no ServiceAccount and the fallback is deny.
   * @throws WaitingError Retrying when the ServiceAccount or its namespace does not exist (ServiceAccountMissing), or its token may not be
   * minted; the signal's reason when it aborts.
   */
  async clientFor(extension: Readonly<ClusterExtension>, signal: AbortSignal): Promise<Client> {
    const { namespace, serviceAccount } = extension.spec;
    const account = serviceAccount?.name;
    if (!account) {
      if (this.#fallback === "controller") return this.#client;
      const message = "spec.serviceAccount.name is empty";
      const next =
        `create a ServiceAccount in namespace "${namespace}" that may manage the objects of the bundle: ` +
        `olmv1 rbac --namespace ${namespace} --service-account NAME BUNDLE | kubectl apply -f -`;
      throw new TerminalError("Blocked", FAILED_VALIDATION + message, {
        problems: [newProblem("ServiceAccountNotSet", { message, next })],
      });
    }
    const source = this.#tokens.tokenFor(namespace, account);
    try {
      await untilAborted(source(), signal);
    } catch (err) {
      throw signal.aborted ? err : await this.#explain(err, namespace, account, unlike(err, source));
    }
    const { name } = extension.metadata;
    const known = this.#scoped.get(name);
    if (known?.namespace === namespace && known.account === account) return known.client;
    this.forget(name);
    const client = this.#client.withToken(source);
    this.#scoped.set(name, { namespace, account, client });
    return client;
  }

  /** Drops the client of an extension that is gone, and the token with it when no other extension uses the ServiceAccount. */
  forget(extension: string): void {
    const scoped = this.#scoped.get(extension);
    if (!scoped) return;
    this.#scoped.delete(extension);
    const { namespace, account } = scoped;
    const shared = [...this.#scoped.values()].some((other) => other.namespace === namespace && other.account === account);
    if (!shared) this.#tokens.forget(namespace, account);
  }

  async #explain(err: unknown, namespace: string, name: string, isOver: IsOver): Promise<unknown> {
    if (!(err instanceof KubeError)) return err;
    const missing = `${FAILED_VALIDATION}service account "${name}" not found in namespace "${namespace}"`;
    const noNamespace = newProblem("NamespaceNotFound", {
      message: `namespace "${namespace}" does not exist`,
      next: `kubectl create namespace ${namespace}`,
      details: [namespace],
    });
    if (isNotFound(err)) {
      const noAccount = newProblem("ServiceAccountNotFound", {
        message: `ServiceAccount ${namespace}/${name} does not exist`,
        next: `olmv1 rbac --namespace ${namespace} --service-account ${name} BUNDLE | kubectl apply -f -`,
      });
      return new ServiceAccountMissing("Retrying", missing, {
        cause: err,
        isOver,
        problems: [isNamespaceMissing(err) ? noNamespace : noAccount],
      });
    }
    if (!isForbidden(err)) return err;
    if (!(await this.#namespaceExists(namespace)))
      return new ServiceAccountMissing("Retrying", missing, {
        cause: err,
        isOver: () => this.#namespaceExists(namespace),
        problems: [noNamespace],
      });
    const message = `operator-controller may not create serviceaccounts/token "${name}" in namespace "${namespace}"`;
    const next = `olmv1 rbac --token-only --namespace ${namespace} --service-account ${name} | kubectl apply -f -`;
    return new WaitingError("Retrying", FAILED_VALIDATION + message, {
      cause: err,
      isOver,
      problems: [newProblem("TokenDenied", { message, next })],
    });
  }

  /** Without the right to look, the namespace is taken to exist: the message about rights then stays the right one. */
  async #namespaceExists(name: string): Promise<boolean> {
    try {
      return (await this.#client.get({ apiVersion: "v1", kind: "Namespace", name })) !== undefined;
    } catch {
      return true;
    }
  }
}

/** Who watches an extension's objects: extensions of one ServiceAccount share their watches. */
export function watchIdentityOf({ spec }: Readonly<ClusterExtension>, scoped: Client, mayWatchAll?: MayWatchAll): WatchIdentity {
  const account = spec.serviceAccount?.name;
  return account
    ? { key: `${spec.namespace}/${account}`, isController: false, client: scoped, ...(mayWatchAll ? { mayWatchAll } : {}) }
    : controllerWatchIdentity(scoped);
}

/** operator-controller itself, watching. */
export function controllerWatchIdentity(client: Client): WatchIdentity {
  return { key: "controller", isController: true, client };
}

/** Asks for the token once more: whether there is one now, or another reason why there is none. */
function unlike(before: unknown, source: () => Promise<string>): IsOver {
  return async (signal) => {
    try {
      await untilAborted(source(), signal);
      return true;
    } catch (err) {
      return messageOf(err) !== messageOf(before);
    }
  };
}
