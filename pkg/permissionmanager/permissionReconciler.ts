import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, EXTENSION_PERMISSIONS, FINALIZER_REVOKE_PERMISSIONS } from "../api/constants.ts";
import type { EventSink } from "../api/events.ts";
import type { ExtensionPermissions, ExtensionPermissionsStatus } from "../api/extensionPermissions.ts";
import { isOwnedBy, type KubeObject, toObjectRef } from "../api/k8s.ts";
import type { PermissionPolicy, PermissionPolicySpec } from "../api/permissionPolicy.ts";
import type { SuggestedNamespace } from "../bundle/suggestedNamespace.ts";
import type { ReconcileContext, ReconcileOutcome } from "../controller/controller.ts";
import { writeFinalizers } from "../controller/finalizers.ts";
import { replaceStatus, type StatusWriter, UpdateError } from "../controller/statusWriter.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { formatTime } from "../golang/time.ts";
import type { Client } from "../kube/client.ts";
import type { BundleImageSource } from "../operatorcontroller/bundles/bundleImages.ts";
import { rulesFromDetails } from "../operatorcontroller/permissions/permissions.ts";
import { type GrantedAccess, getGrantName, readReadOnlyRules } from "../permissions/grantObjects.ts";
import { DEFAULT_POLICY, getPolicyName } from "../permissions/policySelection.ts";
import { findMissingRules, intersectRules, isEmptyRules, mergeRequiredRules } from "../rbac/ruleSets.ts";
import type { Logger } from "../telemetry/log.ts";
import type { AdmissionGuard } from "./admissionGuard.ts";
import { type DerivedRules, UnverifiedRequest } from "./bundleRules.ts";
import { type CreatedNamespaces, type ExistingNamespace, UnusableNamespace } from "./createdNamespaces.ts";
import type { GrantedObjects, GrantWriter } from "./grantWriter.ts";
import type { PermissionMetrics } from "./permissionMetrics.ts";
import { computePermissionsStatus, type GrantOutcome, type GrantScope, getOutcomeState, type RejectedOutcome } from "./permissionStatus.ts";
import { type DeciderServices, type Decision, type DecisionSubject, RequestDecider, rejectUndecided } from "./requestDecider.ts";

/** Delay before a request is checked again if its catalog, its namespace or the request may be about to change. */
const RETRY_MS = 15_000;

/** The last known objects that decisions depend on. Every change of one of them causes another reconcile. */
interface KnownObjects {
  readonly extensions: { get(name: string): ClusterExtension | undefined };
  readonly policies: { get(name: string): PermissionPolicy | undefined };
  /** Reports whether an extension has roles, bindings or a ServiceAccount. */
  hasGrants(extension: string): boolean;
}

/** What a reconcile uses. */
export interface PermissionServices extends DeciderServices {
  readonly api: Pick<Client, "get" | "patch" | "delete">;
  readonly known: KnownObjects;
  readonly images: Pick<BundleImageSource, "obtain" | "cancel">;
  readonly events: EventSink;
  readonly metrics: Pick<PermissionMetrics, "countDecision">;
  readonly writer: GrantWriter;
  readonly namespaces: Pick<CreatedNamespaces, "find" | "create" | "delete">;
  readonly admission: Pick<AdmissionGuard, "check">;
  readonly statuses: StatusWriter<ExtensionPermissions>;
  /** Whether extensions that name a ServiceAccount get permissions too, because operator-controller ignores the name. */
  readonly ignoresServiceAccounts: boolean;
  readonly now: () => Date;
}

/** A decision after its rules were written. The status of `subject` is the last one that was written. */
interface AppliedDecision extends Decision {
  readonly subject: DecisionSubject;
}

/** Grants the permissions of one extension at a time. Idempotent: a reconcile that was stopped anywhere is completed by the next one. */
export class PermissionReconciler {
  readonly #services: PermissionServices;
  readonly #decider: RequestDecider;

  constructor(services: PermissionServices) {
    this.#services = services;
    this.#decider = new RequestDecider(services);
  }

  /** Reports whether the rules of an extension change when its bundle becomes healthy. */
  awaitsHealth(name: string): boolean {
    return this.#decider.awaitsHealth(name);
  }

  /**
   * Reconciles the request of one extension. Reads it from the API server, because an informer may not know the last status, whose history is extended.
   * @throws UpdateError, KubeError, RetryableError and TerminalError of the derivation
   */
  async reconcile(name: string, { log, signal }: ReconcileContext): Promise<ReconcileOutcome> {
    const { api, writer, admission, known, images } = this.#services;
    const permissions = await api.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name }, { signal });
    if (!permissions) {
      this.#decider.forget(name);
      await images.cancel(name);
      if (known.hasGrants(name)) {
        // operator-controller may remove the finalizer of a request, so the request may be deleted before the permissions.
        await writer.revoke(await writer.read(name, signal));
        log.info("permissions without request revoked");
      }
      return undefined;
    }
    // The informer may see the request before the extension.
    const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
    const extension = known.extensions.get(name) ?? (await api.get<ClusterExtension>(ref, { signal }));
    const isReleased = !extension || this.#isReleased(permissions, extension);
    const mayHaveGrants = permissions.status !== undefined || isReleased || known.hasGrants(name);
    const granted = mayHaveGrants ? await writer.read(name, signal) : { objects: [], rules: mergeRequiredRules([]) };
    if (isReleased) {
      await images.cancel(name);
      await this.#revoke(permissions, granted, extension === undefined, signal);
      log.info("permissions revoked");
      return undefined;
    }
    const { finalizers = [] } = permissions.metadata;
    if (!finalizers.includes(FINALIZER_REVOKE_PERMISSIONS)) {
      const outcome = await writeFinalizers(api, permissions, [...finalizers, FINALIZER_REVOKE_PERMISSIONS], signal);
      // The change causes another reconcile.
      if (outcome !== "written") return undefined;
    }
    const subject: DecisionSubject = { permissions, extension, granted };
    try {
      await admission.check(signal);
    } catch (err) {
      signal.throwIfAborted();
      await this.#report(subject, rejectUndecided(subject, "Failed", getErrorMessage(err)), log);
      throw err;
    }
    if (extension.metadata.deletionTimestamp !== undefined) return this.#prepareUninstall(subject, log, signal);
    const decision = await this.#decider.decide(subject, signal);
    if (decision === "nothing requested") return undefined;
    if (decision === "pulling") return { isPending: true };
    const applied = await this.#apply(subject, decision, signal);
    if (applied.outcome.kind === "planned" && applied.outcome.plan.approvedDigest === undefined) this.#decider.forgetApproval(name);
    await this.#report(applied.subject, applied.outcome, log, applied.derived);
    this.#services.metrics.countDecision(applied.error instanceof UnverifiedRequest ? "Unverified" : getOutcomeState(applied.outcome));
    if (applied.error instanceof UnverifiedRequest || applied.error instanceof UnusableNamespace) return { requeueAfterMs: RETRY_MS };
    if (applied.error !== undefined) throw applied.error;
    return undefined;
  }

  /** Reports whether an extension needs no permissions from here: it is managed by its own ServiceAccount, or its request belongs to another one. */
  #isReleased(permissions: Readonly<ExtensionPermissions>, extension: Readonly<ClusterExtension>): boolean {
    const hasOwnAccount = extension.spec.serviceAccount?.name !== undefined && !this.#services.ignoresServiceAccounts;
    // A foreground deletion of the extension deletes the request first, but the uninstall needs the permissions.
    const isDeleted = permissions.metadata.deletionTimestamp !== undefined && extension.metadata.deletionTimestamp === undefined;
    return hasOwnAccount || isDeleted || !isOwnedBy(permissions, extension);
  }

  async #revoke(
    permissions: Readonly<ExtensionPermissions>,
    granted: GrantedObjects,
    isUninstalled: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, writer, namespaces } = this.#services;
    const { policy: policyName = DEFAULT_POLICY, namespace } = permissions.status ?? {};
    await writer.revoke(granted);
    if (isUninstalled && namespace !== undefined) {
      const policy = this.#decider.findPolicy(policyName);
      if (policy?.namespaces?.deletion === "Delete") await namespaces.delete(permissions.metadata.name, namespace);
    }
    // The garbage collector would delete it too, but may need a while to discover the kind.
    if (permissions.metadata.deletionTimestamp === undefined) await api.delete(toObjectRef(permissions));
    const { finalizers = [] } = permissions.metadata;
    const others = finalizers.filter((finalizer) => finalizer !== FINALIZER_REVOKE_PERMISSIONS);
    if (others.length < finalizers.length) await writeFinalizers(api, permissions, others, signal);
  }

  /**
   * Gives an extension that is being deleted all its rules until it is uninstalled, including those in the status whose roles were deleted. If its
   * approval was revoked, the uninstall may need a new one, so it can still be approved.
   */
  async #prepareUninstall(subject: DecisionSubject, log: Logger, signal: AbortSignal): Promise<ReconcileOutcome> {
    const { permissions, granted } = subject;
    const { namespace, serviceAccount, pendingDigest, rules: reported = [] } = permissions.status ?? {};
    if (namespace === undefined || serviceAccount === undefined) return undefined;
    const needsDecision = pendingDigest !== undefined || this.#decider.isRevoked(subject);
    const decision = needsDecision ? await this.#decider.decide(subject, signal) : "nothing requested";
    const planned = typeof decision !== "string" && decision.outcome.kind === "planned" ? decision.outcome : undefined;
    const known = mergeRequiredRules([granted.rules, rulesFromDetails(reported)]);
    const rules = planned?.plan.rules ?? this.#decider.keepRules({ ...subject, granted: { ...granted, rules: known } });
    await this.#services.writer.write(permissions.metadata.name, namespace, { rules }, granted);
    if (decision === "pulling") return { isPending: true }; // the rules may wait for an approval
    const outcome: GrantOutcome = planned?.plan.state === "Pending" ? { ...planned, access: "Full" } : { kind: "uninstalling", rules };
    await this.#report(subject, outcome, log);
    return undefined;
  }

  /** Takes rules away that an extension with a rejected request must not keep, and restores its write permissions for a change. */
  async #applyRejected({ permissions, granted }: DecisionSubject, { rules, access }: RejectedOutcome): Promise<void> {
    const { namespace, serviceAccount, access: before = "Full" } = permissions.status ?? {};
    if (namespace === undefined || serviceAccount === undefined) return;
    if (access === before && isEmptyRules(findMissingRules(granted.rules, rules))) return;
    const { name } = permissions.metadata;
    const readRules = access === "ReadOnly" ? { readRules: intersectRules(readReadOnlyRules(name, granted.objects), rules) } : {};
    await this.#services.writer.write(name, namespace, { rules, ...readRules }, granted);
  }

  /** Writes the decided rules. Nothing is created for an extension that never had permissions while its request is not granted. */
  async #apply(subject: DecisionSubject, decision: Decision, signal: AbortSignal): Promise<AppliedDecision> {
    const { extension, granted } = subject;
    const { outcome, policy, derived, readRules, first } = decision;
    if (outcome.kind === "rejected") await this.#applyRejected(subject, outcome);
    if (outcome.kind !== "planned" || !policy || !derived) return { ...decision, subject };
    if (outcome.plan.state !== "Granted" && granted.objects.length === 0) return { ...decision, subject };
    let recorded = subject;
    try {
      const { namespace } = derived;
      const created = first && !first.existing ? namespace.name : undefined;
      recorded = await this.#record(subject, outcome.plan.approvedDigest, created);
      if (first) await this.#ensureNamespace(extension, first.existing, namespace, policy);
      const grant: GrantedAccess = { rules: outcome.plan.rules, ...(readRules ? { readRules } : {}) };
      await this.#services.writer.write(extension.metadata.name, namespace.name, grant, granted);
      return { ...decision, subject: recorded };
    } catch (err) {
      signal.throwIfAborted();
      return { outcome: this.#decider.rejectFor(recorded, err), error: err, subject: recorded };
    }
  }

  /**
   * Writes a new approval and the namespace to create to the status before anything is granted. If this process is killed before it reports the grant,
   * the next process needs them: without the namespace, it would not delete it after an uninstall; without the approval, it would not notice that the
   * approval was removed.
   * @throws UpdateError
   */
  async #record(subject: DecisionSubject, approvedDigest: string | undefined, namespace: string | undefined): Promise<DecisionSubject> {
    const { permissions, extension } = subject;
    const { status } = permissions;
    const hasApproval = approvedDigest === undefined || status?.approvedDigest === approvedDigest;
    if (hasApproval && (namespace === undefined || status?.namespace === namespace)) return subject;
    const recorded: ExtensionPermissionsStatus = {
      ...status,
      policy: getPolicyName(extension),
      ...(namespace === undefined ? {} : { namespace }),
      ...(approvedDigest === undefined ? {} : { approvedDigest }),
    };
    let written: KubeObject | undefined;
    try {
      written = await replaceStatus(this.#services.api, permissions, recorded);
    } catch (err) {
      throw new UpdateError("status", err);
    }
    if (!written) throw new UpdateError("status", new Error("the request was deleted"));
    return { ...subject, permissions: { ...permissions, status: recorded } };
  }

  /** Creates the namespace of an extension unless it was found, or reports that it belongs to another extension. */
  async #ensureNamespace(
    extension: Readonly<ClusterExtension>,
    found: ExistingNamespace | undefined,
    namespace: SuggestedNamespace,
    policy: PermissionPolicySpec,
  ): Promise<void> {
    const { namespaces, events } = this.#services;
    const { name } = extension.metadata;
    const { createdFor } = found ?? (await namespaces.create(extension, namespace, policy));
    if (createdFor === undefined || createdFor === name) return;
    const text = `namespace ${goQuote(namespace.name)} was created for ClusterExtension ${goQuote(createdFor)}: set spec.namespace of a new extension to use another one`;
    events.record(extension, "Warning", "NamespaceShared", text);
  }

  async #report({ permissions, extension }: DecisionSubject, outcome: GrantOutcome, log: Logger, derived?: DerivedRules): Promise<void> {
    const { status } = permissions;
    const namespace = derived?.namespace.name ?? status?.namespace;
    const isGranted = outcome.kind === "planned" && outcome.plan.state === "Granted";
    // The installed bundle keeps its provider until another one may be applied.
    const { certificateProvider } = (isGranted ? derived : status) ?? {};
    const scope: GrantScope = {
      policy: getPolicyName(extension),
      extensionGeneration: extension.metadata.generation ?? 0,
      ...(namespace === undefined ? {} : { namespace }),
      ...(certificateProvider === undefined ? {} : { certificateProvider }),
      ...(isGranted || status?.serviceAccount !== undefined ? { serviceAccount: getGrantName(extension.metadata.name) } : {}),
    };
    await this.#services.statuses.write(
      permissions,
      computePermissionsStatus(permissions, scope, outcome, formatTime(this.#services.now())),
      log,
    );
  }
}
