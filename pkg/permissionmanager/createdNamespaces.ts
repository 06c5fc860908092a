import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { LABEL_PERMISSIONS_FOR } from "../api/constants.ts";
import type { ExtensionPermissions } from "../api/extensionPermissions.ts";
import type { PermissionPolicySpec } from "../api/permissionPolicy.ts";
import type { SuggestedNamespace } from "../bundle/suggestedNamespace.ts";
import { RetryableError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { isAlreadyExists } from "../kube/errors.ts";
import { buildCreatedNamespace } from "../permissions/createdNamespace.ts";
import { PERMISSION_FIELD_MANAGER } from "./grantWriter.ts";

/** A namespace that exists. */
export interface ExistingNamespace {
  /** The extension that it was created for; undefined if permission-manager did not create it. */
  readonly createdFor: string | undefined;
}

/** The error if an extension cannot use its namespace: only the bundle chose it and it exists, or it is missing and the policy does not let it be created. */
export class UnusableNamespace extends RetryableError {
  override readonly name = "UnusableNamespace";
}

/** The objects that name the namespaces of extensions. */
export interface NamespaceUsers {
  readonly extensions: { list(): readonly ClusterExtension[] };
  readonly permissions: { list(): readonly ExtensionPermissions[] };
}

/** Creates and deletes the namespaces of extensions. Namespaces that existed before stay unchanged and are never deleted. */
export class CreatedNamespaces {
  readonly #client: Pick<Client, "get" | "create" | "delete">;
  readonly #users: NamespaceUsers;

  constructor(client: Pick<Client, "get" | "create" | "delete">, users: NamespaceUsers) {
    this.#client = client;
    this.#users = users;
  }

  /**
   * Returns the namespace of an extension; undefined if it does not exist and may be created. A bundle is untrusted: it must not choose an existing
   * namespace, because its Pods could use the ServiceAccounts there.
   * @throws UnusableNamespace
   */
  async find(extension: Readonly<ClusterExtension>, name: string, policy: PermissionPolicySpec): Promise<ExistingNamespace | undefined> {
    const found = await this.#read(name);
    const isChosen = extension.spec.namespace === name;
    if (found && !isChosen && found.createdFor !== extension.metadata.name)
      throw new UnusableNamespace(
        "Retrying",
        `namespace ${goQuote(name)}, which the bundle suggests, exists: set spec.namespace to it to install there, or to another one`,
      );
    if (found || policy.namespaces?.create !== false) return found;
    const next = isChosen ? "create the namespace" : "create a namespace and set spec.namespace";
    throw new UnusableNamespace("Retrying", `namespace ${goQuote(name)} does not exist, and namespaces.create is false: ${next}`);
  }

  /** Creates the namespace of an extension. Returns the existing one if it was created after `find`. @throws UnusableNamespace */
  async create(
    extension: Readonly<ClusterExtension>,
    suggested: SuggestedNamespace,
    policy: PermissionPolicySpec,
  ): Promise<ExistingNamespace> {
    const [{ name: owner }, { name }] = [extension.metadata, suggested];
    try {
      await this.#client.create(buildCreatedNamespace(owner, name, policy, suggested), { fieldManager: PERMISSION_FIELD_MANAGER });
      return { createdFor: owner };
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
      return (await this.find(extension, name, policy)) ?? { createdFor: undefined };
    }
  }

  /** Deletes the namespace that was created for an uninstalled extension, unless another extension uses it. */
  async delete(extension: string, name: string): Promise<void> {
    const found = await this.#read(name);
    const { extensions, permissions } = this.#users;
    // An extension without namespace in its spec has one in its permissions before it is installed.
    const isUsed =
      extensions.list().some((other) => other.metadata.name !== extension && getNamespace(other) === name) ||
      permissions.list().some((other) => other.metadata.name !== extension && other.status?.namespace === name);
    if (found?.createdFor === extension && !isUsed) await this.#client.delete({ apiVersion: "v1", kind: "Namespace", name });
  }

  async #read(name: string): Promise<ExistingNamespace | undefined> {
    const found = await this.#client.get({ apiVersion: "v1", kind: "Namespace", name }, { metadataOnly: true });
    return found && { createdFor: found.metadata.labels?.[LABEL_PERMISSIONS_FOR] };
  }
}
