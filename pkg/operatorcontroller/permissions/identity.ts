import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import { newProblem } from "../../api/problems.ts";
import { rejectOnAbort } from "../../async/concurrency.ts";
import { getErrorMessage, TerminalError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, isNamespaceMissing, isNotFound, KubeError } from "../../kube/errors.ts";
import type { ServiceAccountTokens } from "../../kube/tokens.ts";
import { getAccountName } from "../../permissions/grantObjects.ts";
import { type UnblockCheck, WaitingError } from "../state/conditionPoller.ts";
import type { WatchIdentity } from "../watches/streamPool.ts";
import type { ManagedPermissions } from "./managedPermissions.ts";
import type { MayWatchAll } from "./ownRules.ts";

/** Thrown if the ServiceAccount or its namespace does not exist. */
export class ServiceAccountMissing extends WaitingError {}

/** What Identities uses of the managed permissions. */
export type ManagedAccounts = Pick<ManagedPermissions, "covers" | "findAccount" | "newAccountMissing" | "acquireWrites">;

/** The ServiceAccount of an extension, and a client with its token. */
interface Scoped {
  namespace: string;
  account: string;
  client: Client;
}

const FAILED_VALIDATION = "operation cannot proceed due to the following validation error(s): ";

/**
 * Provides a client with the token of the ServiceAccount for each extension. Only this client reads, writes and deletes bundle content. The
 * controller itself only needs permission to create the token.
 */
export class Identities {
  readonly #client: Client;
  readonly #tokens: ServiceAccountTokens;
  readonly #managed: ManagedAccounts;
  /** By extension name. */
  readonly #scoped = new Map<string, Scoped>();

  constructor(client: Client, tokens: ServiceAccountTokens, managed: ManagedAccounts) {
    this.#client = client;
    this.#tokens = tokens;
    this.#managed = managed;
  }

  /**
   * Returns the client with the identity of the extension's ServiceAccount, after creating its token. Until permission-manager has created the
   * ServiceAccount, every request of the client fails with a WaitingError.
   * @throws TerminalError Blocked if the extension has no ServiceAccount and managed permissions are off, or a ServiceAccount without a namespace.
   * @throws WaitingError Retrying if the ServiceAccount or its namespace does not exist (ServiceAccountMissing), or creating its token is denied; the
   * signal's reason when it aborts.
   */
  async clientFor(extension: Readonly<ClusterExtension>, signal: AbortSignal): Promise<Client> {
    const { serviceAccount } = extension.spec;
    const namespace = getNamespace(extension);
    const isManaged = this.#managed.covers(extension);
    const account = isManaged ? this.#managed.findAccount(extension)?.name : serviceAccount?.name;
    if (isManaged && account === undefined)
      return this.#client.withToken(() => this.#createLateToken(extension)).guardedBy(() => this.#managed.acquireWrites(extension));
    if (namespace === "") {
      const message = "spec.namespace is required with spec.serviceAccount, or if managed permissions are off";
      throw new TerminalError("Blocked", FAILED_VALIDATION + message, { problems: [newProblem("InvalidSpec", { message })] });
    }
    if (!account) {
      const message = "spec.serviceAccount.name is empty";
      const next =
        `create a ServiceAccount in namespace "${namespace}" with permissions to manage the bundle objects: ` +
        `olmv1 rbac --namespace ${namespace} --service-account NAME BUNDLE | kubectl apply -f -`;
      throw new TerminalError("Blocked", FAILED_VALIDATION + message, {
        problems: [newProblem("ServiceAccountNotSet", { message, next })],
      });
    }
    const source = this.#tokens.tokenFor(namespace, account);
    try {
      await rejectOnAbort(source(), signal);
    } catch (err) {
      throw signal.aborted ? err : await this.#explain(err, namespace, account, newTokenCheck(err, source));
    }
    const { name } = extension.metadata;
    const known = this.#scoped.get(name);
    if (known?.namespace === namespace && known.account === account) return known.client;
    this.forget(name);
    const scoped = this.#client.withToken(source);
    const client = isManaged ? scoped.guardedBy(() => this.#managed.acquireWrites(extension)) : scoped;
    this.#scoped.set(name, { namespace, account, client });
    return client;
  }

  /** Looks up the ServiceAccount at each request, because a watch keeps its client after permission-manager has created the ServiceAccount. */
  #createLateToken(extension: Readonly<ClusterExtension>): Promise<string> {
    const found = this.#managed.findAccount(extension);
    if (!found) return Promise.reject(this.#managed.newAccountMissing(extension));
    return this.#tokens.tokenFor(found.namespace, found.name)();
  }

  /** Drops the client of a deleted extension. Also drops the token if no other extension uses the ServiceAccount. */
  forget(extension: string): void {
    const scoped = this.#scoped.get(extension);
    if (!scoped) return;
    this.#scoped.delete(extension);
    const { namespace, account } = scoped;
    const shared = [...this.#scoped.values()].some((other) => other.namespace === namespace && other.account === account);
    if (!shared) this.#tokens.forget(namespace, account);
  }

  async #explain(err: unknown, namespace: string, name: string, isOver: UnblockCheck): Promise<unknown> {
    if (!(err instanceof KubeError)) return err;
    const text = `${FAILED_VALIDATION}service account "${name}" not found in namespace "${namespace}"`;
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
      return new ServiceAccountMissing("Retrying", text, {
        cause: err,
        isOver,
        problems: [isNamespaceMissing(err) ? noNamespace : noAccount],
      });
    }
    if (!isForbidden(err)) return err;
    if (!(await this.#namespaceExists(namespace)))
      return new ServiceAccountMissing("Retrying", text, {
        cause: err,
        isOver: () => this.#namespaceExists(namespace),
        problems: [noNamespace],
      });
    const message = `operator-controller is not allowed to create serviceaccounts/token "${name}" in namespace "${namespace}"`;
    const next = `olmv1 rbac --token-only --namespace ${namespace} --service-account ${name} | kubectl apply -f -`;
    return new WaitingError("Retrying", FAILED_VALIDATION + message, {
      cause: err,
      isOver,
      problems: [newProblem("TokenDenied", { message, next })],
    });
  }

  /** Reports whether a namespace exists. If reading it is denied, it counts as existing, and the missing permission is reported. */
  async #namespaceExists(name: string): Promise<boolean> {
    try {
      return (await this.#client.get({ apiVersion: "v1", kind: "Namespace", name })) !== undefined;
    } catch {
      return true;
    }
  }
}

/** Returns the identity that watches an extension's objects. Extensions with the same ServiceAccount share their watches. */
export function getWatchIdentity(extension: Readonly<ClusterExtension>, scoped: Client, mayWatchAll?: MayWatchAll): WatchIdentity {
  const key = `${getNamespace(extension)}/${getAccountName(extension)}`;
  return { key, isController: false, client: scoped, ...(mayWatchAll ? { mayWatchAll } : {}) };
}

/** Returns the identity of operator-controller itself for watches. */
export function getControllerWatchIdentity(client: Client): WatchIdentity {
  return { key: "controller", isController: true, client };
}

/** Returns a check that creates the token again. It is true if this succeeds or fails with a different error. */
function newTokenCheck(before: unknown, source: () => Promise<string>): UnblockCheck {
  return async (signal) => {
    try {
      await rejectOnAbort(source(), signal);
      return true;
    } catch (err) {
      return getErrorMessage(err) !== getErrorMessage(before);
    }
  };
}
