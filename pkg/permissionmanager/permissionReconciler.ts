import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import {
  ANNOTATION_APPROVE,
  API_VERSION,
  CLUSTER_EXTENSION,
  ConditionType,
  EXTENSION_PERMISSIONS,
  PERMISSION_POLICY,
} from "../api/constants.ts";
import type { ExtensionPermissions, RequestedBundle } from "../api/extensionPermissions.ts";
import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import type { PermissionPolicy, PermissionPolicySpec, PolicyGrant } from "../api/permissionPolicy.ts";
import type { ReconcileContext, ReconcileOutcome } from "../controller/controller.ts";
import { StatusWriter, UpdateError } from "../controller/statusWriter.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { formatTime } from "../golang/time.ts";
import type { Client } from "../kube/client.ts";
import { isAlreadyExists, isConflict } from "../kube/errors.ts";
import { getManagedInstaller, labelForExtension } from "../permissions/grantObjects.ts";
import { planGrant } from "../permissions/grantPlan.ts";
import { judgePermissions } from "../permissions/judgePermissions.ts";
import { findExceededLimit, findUncovered } from "../permissions/policySelection.ts";
import type { AdmissionGuard } from "./admissionGuard.ts";
import { type BundleRulesServices, deriveBundleRules, UnverifiedRequest } from "./bundleRules.ts";
import { type GrantedObjects, type GrantWriter, PERMISSION_FIELD_MANAGER } from "./grantWriter.ts";
import { computePermissionsStatus, type GrantOutcome, type GrantScope } from "./permissionStatus.ts";

const FINALIZER = "olm.operatorframework.io/revoke-permissions";
/** The policy of extensions that name none. If it does not exist, its grant is `defaultGrant`, and everything else has the default of the API. */
const DEFAULT_POLICY = "default";
/** Delay before an unverified request is checked again: the catalog or the request may be about to change. */
const RETRY_MS = 15_000;
/** Pod Security level of created namespaces. */
const POD_SECURITY = "baseline";

/** What a reconcile uses. */
export interface PermissionServices extends BundleRulesServices {
  readonly api: Pick<Client, "get" | "create" | "patch" | "delete">;
  readonly writer: GrantWriter;
  readonly admission: Pick<AdmissionGuard, "check">;
  readonly statuses: StatusWriter<ExtensionPermissions>;
  readonly defaultGrant: PolicyGrant;
  readonly now: () => Date;
}

/** Grants the permissions of one extension at a time. Idempotent: a reconcile that was stopped anywhere is completed by the next one. */
export class PermissionReconciler {
  readonly #services: PermissionServices;

  constructor(services: PermissionServices) {
    this.#services = services;
  }

  /** @throws UpdateError, KubeError, RetryableError and TerminalError of the derivation */
  async reconcile(name: string, { log, signal }: ReconcileContext): Promise<ReconcileOutcome> {
    const { api, writer, statuses, admission } = this.#services;
    const permissions = await api.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name }, { signal });
    if (!permissions) return undefined;
    const extension = await api.get<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, { signal });
    const granted = await writer.read(name, signal);
    if (
      !extension ||
      permissions.metadata.deletionTimestamp !== undefined ||
      isOfAnother(permissions, extension) ||
      hasOwnAccount(extension)
    ) {
      await writer.revoke(granted);
      // The garbage collector would delete it too, but may need a while to discover the kind.
      if (permissions.metadata.deletionTimestamp === undefined) await api.delete(toObjectRef(permissions));
      await this.#removeFinalizer(permissions);
      log.info("permissions revoked");
      return undefined;
    }
    if (!(await this.#addFinalizer(permissions))) return undefined;
    const installer = getManagedInstaller(name, extension.spec.namespace);
    const scope: GrantScope = { policy: DEFAULT_POLICY, namespace: installer.namespace, serviceAccount: installer.name };
    const report = (outcome: GrantOutcome): Promise<unknown> =>
      statuses.write(permissions, computePermissionsStatus(permissions, scope, outcome, formatTime(this.#services.now())), log);
    try {
      await admission.check(signal);
    } catch (err) {
      signal.throwIfAborted();
      await report({ kind: "rejected", state: "Failed", message: getErrorMessage(err), rules: granted.rules });
      throw err;
    }
    await this.#ensureNamespace(name, installer.namespace);
    const { outcome, error } = await this.#decide(permissions, extension, granted, scope, signal);
    const rules = outcome.kind === "planned" ? outcome.plan.rules : outcome.rules;
    await writer.write(name, installer.namespace, rules, granted);
    await report(outcome);
    if (error instanceof UnverifiedRequest) return { requeueAfterMs: RETRY_MS };
    if (error !== undefined) throw error;
    return undefined;
  }

  /** Decides about the request. An extension keeps its rules if the decision fails. */
  async #decide(
    permissions: Readonly<ExtensionPermissions>,
    extension: Readonly<ClusterExtension>,
    granted: GrantedObjects,
    scope: GrantScope,
    signal: AbortSignal,
  ): Promise<{ outcome: GrantOutcome; error?: unknown }> {
    const requested = permissions.spec?.bundle;
    if (!requested || extension.metadata.deletionTimestamp !== undefined) return { outcome: { kind: "identity", rules: granted.rules } };
    const reject = (state: "Denied" | "Failed", message: string): GrantOutcome => ({
      kind: "rejected",
      state,
      message,
      rules: granted.rules,
    });
    const policy = await this.#readPolicy(scope.policy, signal);
    if (!policy) return { outcome: reject("Denied", `PermissionPolicy ${goQuote(scope.policy)} does not exist: create it`) };
    try {
      const { rules, subject, catalog } = await deriveBundleRules(this.#services, extension, requested, permissions.status?.bundle, signal);
      const target = {
        packageName: requested.packageName,
        namespace: scope.namespace,
        catalog: { name: catalog.metadata.name, labels: catalog.metadata.labels ?? {} },
      };
      const problem = findUncovered(policy, target) ?? findExceededLimit(policy, rules);
      if (problem !== undefined) return { outcome: reject("Denied", `PermissionPolicy ${goQuote(scope.policy)}: ${problem}`) };
      const judged = judgePermissions(rules, policy, subject);
      const plan = planGrant({
        current: granted.rules,
        judged,
        approvedDigest: permissions.metadata.annotations?.[ANNOTATION_APPROVE],
        isSettled: isSettled(extension, requested),
      });
      const risks = judged.filter(({ outcome, risk }) => outcome === "Granted" && risk !== undefined);
      return { outcome: { kind: "planned", plan, bundle: requested, before: granted.rules, risks } };
    } catch (err) {
      signal.throwIfAborted();
      return { outcome: reject("Failed", getErrorMessage(err)), error: err };
    }
  }

  async #readPolicy(name: string, signal: AbortSignal): Promise<PermissionPolicySpec | undefined> {
    const { api, defaultGrant } = this.#services;
    const found = await api.get<PermissionPolicy>({ ...PERMISSION_POLICY, name }, { signal });
    return found?.spec ?? (name === DEFAULT_POLICY ? { grant: defaultGrant } : undefined);
  }

  /** Creates the namespace of an extension if it does not exist. An existing namespace stays unchanged, and is never deleted. */
  async #ensureNamespace(extension: string, name: string): Promise<void> {
    const { api } = this.#services;
    if (await api.get({ apiVersion: "v1", kind: "Namespace", name }, { metadataOnly: true })) return;
    const labels = { "pod-security.kubernetes.io/enforce": POD_SECURITY, "pod-security.kubernetes.io/warn": "restricted" };
    const namespace: KubeObject = labelForExtension(extension, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
    try {
      await api.create(namespace, { fieldManager: PERMISSION_FIELD_MANAGER });
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
    }
  }

  /** @returns false if the object changed, so that another reconcile follows. @throws UpdateError */
  async #addFinalizer(permissions: Readonly<ExtensionPermissions>): Promise<boolean> {
    const { finalizers = [] } = permissions.metadata;
    return finalizers.includes(FINALIZER) || this.#setFinalizers(permissions, [...finalizers, FINALIZER]);
  }

  async #removeFinalizer(permissions: Readonly<ExtensionPermissions>): Promise<void> {
    const { finalizers = [] } = permissions.metadata;
    if (finalizers.includes(FINALIZER))
      await this.#setFinalizers(
        permissions,
        finalizers.filter((each) => each !== FINALIZER),
      );
  }

  async #setFinalizers(permissions: Readonly<ExtensionPermissions>, finalizers: readonly string[]): Promise<boolean> {
    const { uid, resourceVersion } = permissions.metadata;
    try {
      await this.#services.api.patch(toObjectRef(permissions), { metadata: { uid, resourceVersion, finalizers } }, { type: "merge" });
      return true;
    } catch (err) {
      if (isConflict(err)) return false;
      throw new UpdateError("finalizers", err);
    }
  }
}

/** Reports whether the object belongs to an earlier extension of that name. */
function isOfAnother(
  { metadata: { ownerReferences = [] } }: Readonly<ExtensionPermissions>,
  extension: Readonly<ClusterExtension>,
): boolean {
  return !ownerReferences.some(({ uid }) => uid === extension.metadata.uid);
}

function hasOwnAccount({ spec }: Readonly<ClusterExtension>): boolean {
  return spec.serviceAccount?.name !== undefined;
}

/** Reports whether the requested bundle is installed and healthy. */
function isSettled({ metadata, status }: Readonly<ClusterExtension>, { name, version }: RequestedBundle): boolean {
  const installed = status?.install?.bundle;
  if (installed?.name !== name || installed.version !== version) return false;
  const ready = findCondition(status?.conditions, ConditionType.Ready);
  return ready?.status === "True" && ready.observedGeneration === metadata.generation;
}
