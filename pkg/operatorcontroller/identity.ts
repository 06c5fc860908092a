import type { ClusterExtension } from "../api/clusterExtension.ts";
import { RetryableError, TerminalError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden, isNotFound, KubeError } from "../kube/errors.ts";
import type { ServiceAccountTokens } from "../kube/tokens.ts";

/** What stands in for an extension that names no ServiceAccount: nobody, or the controller itself. */
export type ServiceAccountFallback = "deny" | "controller";

/** The named ServiceAccount, or its namespace, does not exist. */
export class ServiceAccountMissing extends RetryableError {}

const FAILED_VALIDATION = "operation cannot proceed due to the following validation error(s): ";

/**
 * Gives each extension a client that is its ServiceAccount: bundle content is read, written and deleted through it only.
 * The controller's own rights end at minting that ServiceAccount's token.
 */
export class Identities {
  readonly #client: Client;
  readonly #tokens: ServiceAccountTokens;
  readonly #fallback: ServiceAccountFallback;
  readonly #scoped = new Map<string, Client>();

  constructor(client: Client, tokens: ServiceAccountTokens, fallback: ServiceAccountFallback) {
    this.#client = client;
    this.#tokens = tokens;
    this.#fallback = fallback;
  }

  /**
   * The client that acts as the extension's ServiceAccount; a token has been minted when this returns.
   * @throws TerminalError Blocked when the extension names no ServiceAccount and the fallback is deny.
   * @throws RetryableError Retrying when the ServiceAccount or its namespace does not exist, or its token may not be minted.
   */
  async clientFor(extension: Readonly<ClusterExtension>): Promise<Client> {
    const { namespace, serviceAccount } = extension.spec;
    const name = serviceAccount?.name;
    if (!name) {
      if (this.#fallback === "controller") return this.#client;
      throw new TerminalError(
        "Blocked",
        `${FAILED_VALIDATION}spec.serviceAccount.name is empty: name a ServiceAccount of namespace "${namespace}" that may manage the bundle's objects; ` +
          `print one with its rules: olmv1 rbac --namespace ${namespace} --service-account NAME BUNDLE`,
      );
    }
    const source = this.#tokens.tokenFor(namespace, name);
    try {
      await source();
    } catch (err) {
      throw await this.#explain(err, namespace, name);
    }
    const key = `${namespace}/${name}`;
    const known = this.#scoped.get(key);
    if (known) return known;
    const client = this.#client.withToken(source);
    this.#scoped.set(key, client);
    return client;
  }

  async #explain(err: unknown, namespace: string, name: string): Promise<unknown> {
    if (!(err instanceof KubeError)) return err;
    const missing = `${FAILED_VALIDATION}service account "${name}" not found in namespace "${namespace}"`;
    if (isNotFound(err)) {
      const also = err.message.includes(`namespaces "${namespace}"`) ? `; namespace "${namespace}" does not exist` : "";
      return new ServiceAccountMissing("Retrying", missing + also, { cause: err });
    }
    if (!isForbidden(err)) return err;
    if (!(await this.#namespaceExists(namespace))) {
      return new ServiceAccountMissing("Retrying", `${missing}; namespace "${namespace}" does not exist`, { cause: err });
    }
    const text =
      `operator-controller may not create serviceaccounts/token "${name}" in namespace "${namespace}"; ` +
      `apply: olmv1 rbac --token-only --namespace ${namespace} --service-account ${name}`;
    return new RetryableError("Retrying", FAILED_VALIDATION + text, { cause: err });
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
