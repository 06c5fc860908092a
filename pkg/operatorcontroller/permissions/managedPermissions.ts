import { setTimeout as sleep } from "node:timers/promises";
import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, EXTENSION_PERMISSIONS, FINALIZER_REVOKE_PERMISSIONS, Reason } from "../../api/constants.ts";
import { type ExtensionPermissions, isSameBundle, type RequestedBundle } from "../../api/extensionPermissions.ts";
import { isOwnedBy } from "../../api/k8s.ts";
import { newProblem, type Problem } from "../../api/problems.ts";
import { TerminalError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isAlreadyExists } from "../../kube/errors.ts";
import type { Installer } from "../../rbac/installerManifests.ts";
import { type UnblockCheck, WaitingError } from "../state/conditionPoller.ts";

/** Whether permission-manager runs, and whether extensions that name a ServiceAccount use it. */
export const MANAGED_PERMISSIONS_MODES = ["on", "off", "always"] as const;
export type ManagedPermissionsMode = (typeof MANAGED_PERMISSIONS_MODES)[number];

/** Changes of ExtensionPermissions end a wait by their events; this is only the limit if an event is missed. */
const POLL_MS = 5_000;
/** How often a write checks whether it has write permissions, in milliseconds. */
const CHECK_MS = 10;
/** How long a write waits for write permissions, in milliseconds. */
const ACCESS_TIMEOUT_MS = 10_000;

/** What ManagedPermissions uses. */
export interface ManagedPermissionsOptions {
  readonly client: Pick<Client, "get" | "create" | "patch">;
  readonly mode: ManagedPermissionsMode;
  /** Returns the last known ExtensionPermissions of an extension. */
  readonly find: (extension: string) => ExtensionPermissions | undefined;
}

/**
 * The permissions of extensions that name no ServiceAccount. Requests them in an ExtensionPermissions of the same name, and reads what
 * permission-manager granted. Grants nothing itself.
 */
export class ManagedPermissions {
  readonly #options: ManagedPermissionsOptions;

  constructor(options: ManagedPermissionsOptions) {
    this.#options = options;
  }

  /** Reports whether permission-manager grants the permissions of an extension. */
  covers({ spec }: Readonly<ClusterExtension>): boolean {
    return this.#options.mode !== "off" && !spec.serviceAccount?.name;
  }

  /** Reports whether the ServiceAccount in the spec of an extension has no effect. */
  ignoresAccount({ spec }: Readonly<ClusterExtension>): boolean {
    return this.#options.mode === "always" && spec?.serviceAccount?.name !== undefined;
  }

  /**
   * Returns an extension with the namespace in which it is installed or will be installed if it is known, and without a ServiceAccount that has
   * no effect. All steps of a reconcile use this extension.
   */
  complete(extension: Readonly<ClusterExtension>): Readonly<ClusterExtension> {
    if (!extension.spec) return extension;
    const { serviceAccount: _ignored, ...others } = extension.spec;
    const spec = this.ignoresAccount(extension) ? others : extension.spec;
    if (spec.namespace !== undefined) return { ...extension, spec };
    const namespace =
      getNamespace(extension) || (this.covers({ ...extension, spec }) ? this.#find(extension)?.status?.namespace : undefined);
    return { ...extension, spec: namespace === undefined ? spec : { ...spec, namespace } };
  }

  /**
   * Returns the ServiceAccount that permission-manager created for an extension; undefined if it has created none.
   * @throws TerminalError Blocked if it belongs to another namespace than the installed objects
   */
  findAccount(extension: Readonly<ClusterExtension>): Installer | undefined {
    const { namespace, serviceAccount: name } = this.#find(extension)?.status ?? {};
    if (namespace === undefined || name === undefined) return undefined;
    const installed = getNamespace(extension);
    if (installed !== "" && installed !== namespace) {
      const message = `permission-manager grants permissions in namespace ${goQuote(namespace)}, but the extension is installed in ${goQuote(installed)}`;
      const next = `kubectl patch clusterextension ${extension.metadata.name} --type merge -p '{"spec":{"namespace":"${installed}"}}'`;
      throw new TerminalError(Reason.Blocked, message, { problems: [newProblem("PermissionsDenied", { message, next })] });
    }
    return { namespace, name };
  }

  /** Reports whether permission-manager created a ServiceAccount for an extension. Asks the API server if the last known state has none. */
  async hasAccount(extension: Readonly<ClusterExtension>, signal: AbortSignal): Promise<boolean> {
    if (this.#find(extension)?.status?.serviceAccount !== undefined) return true;
    const { name } = extension.metadata;
    const found = await this.#options.client.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name }, { signal });
    return found !== undefined && isOwnedBy(found, extension) && found.status?.serviceAccount !== undefined;
  }

  /** Returns the error for a request as a ServiceAccount that permission-manager has not created. */
  newAccountMissing(extension: Readonly<ClusterExtension>): WaitingError {
    const text = "waiting for permission-manager to create the ServiceAccount";
    return this.#wait(extension, text, (now) => now?.status?.serviceAccount !== undefined);
  }

  /**
   * Requests the permissions for a bundle, or those to read the objects in `spec.config.valuesFrom` before the bundle is known.
   * @returns undefined if they are granted; the error to report if permission-manager has not decided soon
   * @throws WaitingError Retrying if they wait for an approval, the policy denies them, or permission-manager cannot verify the request
   */
  async request(
    extension: Readonly<ClusterExtension>,
    bundle: RequestedBundle | undefined,
    signal: AbortSignal,
  ): Promise<WaitingError | undefined> {
    const known = this.#find(extension) ?? (await this.#create(extension, bundle, signal));
    if (bundle && !isSameBundle(known?.spec?.bundle, bundle))
      await this.#patch(extension, { bundle: { operatorCondition: null, ...bundle } }, signal);
    const isDecided = (now: ExtensionPermissions | undefined): boolean => isDecidedFor(now, extension, bundle);
    const subject = bundle ? `bundle ${goQuote(bundle.name)}` : "reading spec.config.valuesFrom";
    const waiting = `waiting for permission-manager to grant the permissions for ${subject}`;
    if (!known || !isDecided(known)) return this.#wait(extension, waiting, isDecided);
    const state = known.status?.state;
    if (state === "Denied") throw this.#deny(extension, known);
    if (state === "Failed") throw this.#wait(extension, `${waiting}: ${getMessage(known)}`, (now) => now?.status?.state !== state);
    if (state === "Pending") throw this.#await(extension, known);
    return undefined;
  }

  /**
   * Waits until the ServiceAccount of an extension has write permissions. Requests them if the policy withheld them because nothing was changed.
   * @throws WaitingError Retrying if permission-manager does not restore them in time
   */
  async acquireWrites(extension: Readonly<ClusterExtension>): Promise<void> {
    const mayWrite = (now: ExtensionPermissions | undefined): boolean => now?.status?.access !== "ReadOnly";
    if (mayWrite(this.#find(extension))) return;
    await this.#patch(extension, { isChanging: true });
    for (let waited = 0; waited < ACCESS_TIMEOUT_MS; waited += CHECK_MS) {
      if (mayWrite(this.#find(extension))) return;
      await sleep(CHECK_MS);
    }
    throw this.#wait(extension, "waiting for permission-manager to restore the write permissions", mayWrite);
  }

  /**
   * Keeps the permissions of the earlier bundle after an upgrade, because objects of it are left: otherwise permission-manager revokes them when the new
   * bundle is healthy, and the objects could not be deleted later. `releaseWrites` ends it.
   */
  async keepEarlierRules(extension: Readonly<ClusterExtension>): Promise<void> {
    if (!this.covers(extension) || this.#find(extension)?.spec?.isChanging) return;
    await this.#patch(extension, { isChanging: true });
  }

  /** Lets permission-manager withhold permissions again after a change that `acquireWrites` or `keepEarlierRules` began. */
  async releaseWrites(extension: Readonly<ClusterExtension>): Promise<void> {
    if (this.#find(extension)?.spec?.isChanging) await this.#patch(extension, { isChanging: null });
  }

  /** Returns the last known request of this extension, not that of an earlier one with the same name. */
  #find(extension: Readonly<ClusterExtension>): ExtensionPermissions | undefined {
    const found = this.#options.find(extension.metadata.name);
    return found && isOwnedBy(found, extension) ? found : undefined;
  }

  /** Returns the error for permissions that wait for approval. */
  #await(extension: Readonly<ClusterExtension>, permissions: Readonly<ExtensionPermissions>): WaitingError {
    const { name } = extension.metadata;
    const message = getMessage(permissions);
    const next = `olmv1 permissions approve ${name}`;
    const problem = newProblem("PermissionsPending", { message, next });
    return this.#wait(extension, message, (now) => now?.status?.state !== "Pending", [problem]);
  }

  /** Returns the error for denied permissions; the controller retries when the policy, the version or the configuration changes the decision. */
  #deny(extension: Readonly<ClusterExtension>, permissions: Readonly<ExtensionPermissions>): WaitingError {
    const message = getMessage(permissions);
    const next = `olmv1 permissions show ${permissions.metadata.name}`;
    const problem = newProblem("PermissionsDenied", { message, next });
    return this.#wait(extension, message, (now) => now?.status?.state !== "Denied", [problem]);
  }

  #wait(
    { metadata: { name } }: Readonly<ClusterExtension>,
    text: string,
    isOver: (now: ExtensionPermissions | undefined) => boolean,
    problems: readonly Problem[] = [],
  ): WaitingError {
    const check: UnblockCheck = async (signal) =>
      isOver(await this.#options.client.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name }, { signal }));
    return new WaitingError(Reason.Retrying, text, { isOver: check, everyMs: POLL_MS, problems: [...problems] });
  }

  /** Creates the request of an extension. Returns undefined if it exists, but is not known yet or belongs to an earlier extension. */
  async #create(
    { metadata: { name, uid = "" } }: Readonly<ClusterExtension>,
    bundle: RequestedBundle | undefined,
    signal: AbortSignal,
  ): Promise<ExtensionPermissions | undefined> {
    const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid };
    const spec = bundle ? { bundle } : {};
    try {
      const object: ExtensionPermissions = {
        ...EXTENSION_PERMISSIONS,
        metadata: { name, ownerReferences: [owner], finalizers: [FINALIZER_REVOKE_PERMISSIONS] },
        spec,
      };
      return await this.#options.client.create(object, { signal });
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
      return undefined;
    }
  }

  async #patch({ metadata: { name } }: Readonly<ClusterExtension>, spec: object, signal?: AbortSignal): Promise<void> {
    const ref = { ...EXTENSION_PERMISSIONS, name };
    await this.#options.client.patch(ref, { spec }, { type: "merge", ...(signal ? { signal } : {}) });
  }
}

/** Reports whether permission-manager has decided about the current extension and this bundle. */
function isDecidedFor(
  permissions: ExtensionPermissions | undefined,
  { metadata: { generation = 0 } }: Readonly<ClusterExtension>,
  bundle: RequestedBundle | undefined,
): boolean {
  const { metadata, spec, status } = permissions ?? {};
  const { state, observedGeneration, extensionGeneration = 0 } = status ?? {};
  if (state === undefined || observedGeneration !== metadata?.generation || extensionGeneration < generation) return false;
  if (!bundle) return true;
  // A request that was rejected as a whole keeps the bundle of the last decision.
  return isSameBundle(spec?.bundle, bundle) && (state === "Denied" || state === "Failed" || isSameBundle(status?.bundle, bundle));
}

function getMessage({ status }: Readonly<ExtensionPermissions>): string {
  return status?.conditions?.[0]?.message ?? "";
}
