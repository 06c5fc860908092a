import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_APPROVE, API_VERSION, CLUSTER_EXTENSION, EXTENSION_PERMISSIONS, Reason } from "../../api/constants.ts";
import type { ExtensionPermissions, RequestedBundle } from "../../api/extensionPermissions.ts";
import { newProblem, type Problem } from "../../api/problems.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isAlreadyExists } from "../../kube/errors.ts";
import { type UnblockCheck, WaitingError } from "../state/conditionPoller.ts";

/** Whether permission-manager runs. */
export const MANAGED_PERMISSIONS_MODES = ["on", "off"] as const;
export type ManagedPermissionsMode = (typeof MANAGED_PERMISSIONS_MODES)[number];

/** A ServiceAccount. */
export interface AccountRef {
  readonly namespace: string;
  readonly name: string;
}

/** Watched ExtensionPermissions are checked by the informer; this is only the limit if an event is missed. */
const POLL_MS = 5_000;

/**
 * The permissions of extensions that name no ServiceAccount. Requests them in an ExtensionPermissions of the same name, and reads what
 * permission-manager granted. Grants nothing itself.
 */
export class ManagedPermissions {
  readonly #client: Pick<Client, "get" | "create" | "patch">;
  readonly #isEnabled: boolean;

  constructor(client: Pick<Client, "get" | "create" | "patch">, mode: ManagedPermissionsMode) {
    this.#client = client;
    this.#isEnabled = mode !== "off";
  }

  /** Reports whether permission-manager grants the permissions of an extension. */
  covers({ spec }: Readonly<ClusterExtension>): boolean {
    return this.#isEnabled && !spec.serviceAccount?.name;
  }

  /**
   * Returns the ServiceAccount that permission-manager created for an extension; requests it if necessary.
   * @throws WaitingError Retrying while it does not exist
   */
  async findAccount(extension: Readonly<ClusterExtension>, signal: AbortSignal): Promise<AccountRef> {
    const { status, metadata } = await this.#ensure(extension, signal);
    const isCurrent = metadata.ownerReferences?.some(({ uid }) => uid === extension.metadata.uid) ?? false;
    if (isCurrent && status?.serviceAccount !== undefined && status.namespace !== undefined)
      return { namespace: status.namespace, name: status.serviceAccount };
    throw this.#wait(
      extension,
      "waiting for permission-manager to create the ServiceAccount",
      (now) => now?.status?.serviceAccount !== undefined,
    );
  }

  /**
   * Requests the permissions for a bundle.
   * @throws WaitingError Retrying while permission-manager has not decided, waits for an approval, or the policy denies them
   */
  async request(extension: Readonly<ClusterExtension>, bundle: RequestedBundle, signal: AbortSignal): Promise<void> {
    const permissions = await this.#ensure(extension, signal);
    if (!isSameBundle(permissions.spec?.bundle, bundle))
      await this.#client.patch(
        { ...EXTENSION_PERMISSIONS, name: extension.metadata.name },
        { spec: { bundle } },
        { type: "merge", signal },
      );
    const decided = isSameBundle(permissions.spec?.bundle, bundle) ? permissions : undefined;
    const { state, observedGeneration } = decided?.status ?? {};
    if (!decided || observedGeneration !== decided.metadata.generation || !isSameBundle(decided.status?.bundle, bundle)) {
      const failure = decided && observedGeneration === decided.metadata.generation && state === "Failed" ? `: ${getMessage(decided)}` : "";
      const text = `waiting for permission-manager to grant the permissions for bundle ${goQuote(bundle.name)}${failure}`;
      if (state === "Denied" && decided && observedGeneration === decided.metadata.generation) throw this.#deny(extension, decided);
      throw this.#wait(
        extension,
        text,
        (now) => now?.status?.observedGeneration === now?.metadata.generation && now?.status?.state !== state,
      );
    }
    if (state === "Granted") return;
    if (state === "Denied") throw this.#deny(extension, decided);
    const message = getMessage(decided);
    const digest = decided.status?.pendingDigest;
    const next =
      digest === undefined
        ? `kubectl describe extensionpermissions ${extension.metadata.name}`
        : `kubectl annotate extensionpermissions ${extension.metadata.name} --overwrite ${ANNOTATION_APPROVE}=${digest}`;
    const problem = newProblem("PermissionsPending", { message, next });
    throw this.#wait(extension, message, (now) => now?.status?.state !== state, [problem]);
  }

  /** Returns the error for denied permissions; the controller retries when the policy, the version or the configuration changes the decision. */
  #deny(extension: Readonly<ClusterExtension>, permissions: Readonly<ExtensionPermissions>): WaitingError {
    const message = getMessage(permissions);
    const next = `kubectl describe extensionpermissions ${permissions.metadata.name}`;
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
      isOver(await this.#client.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name }, { signal }));
    return new WaitingError(Reason.Retrying, text, { isOver: check, everyMs: POLL_MS, problems: [...problems] });
  }

  /** Returns the ExtensionPermissions of an extension; creates it if it does not exist. */
  async #ensure({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>, signal: AbortSignal): Promise<ExtensionPermissions> {
    const found = await this.#client.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name }, { signal });
    if (found) return found;
    const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid };
    const object: ExtensionPermissions = { ...EXTENSION_PERMISSIONS, metadata: { name, ownerReferences: [owner] }, spec: {} };
    try {
      return await this.#client.create(object, { signal });
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
      return object;
    }
  }
}

function isSameBundle(a: RequestedBundle | undefined, b: RequestedBundle): boolean {
  return a !== undefined && a.image === b.image && a.name === b.name && a.version === b.version && a.catalog === b.catalog;
}

function getMessage({ status }: Readonly<ExtensionPermissions>): string {
  return status?.conditions?.[0]?.message ?? "";
}
