import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { ANNOTATION_APPROVE, ConditionType, EXTENSION_PERMISSIONS } from "../api/constants.ts";
import type { ExtensionPermissions, RequestedBundle } from "../api/extensionPermissions.ts";
import type { PermissionPolicy, PermissionPolicySpec, PolicyGrant } from "../api/permissionPolicy.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { readReadOnlyRules, selectReadRules } from "../permissions/grantObjects.ts";
import { type GrantPlan, isApprovalRevoked, keepRules, planGrant, toRules } from "../permissions/grantPlan.ts";
import { type JudgedRule, judgePermissions } from "../permissions/judgePermissions.ts";
import { buildPolicyTarget, DEFAULT_POLICY, findPolicyProblem, getPolicyName } from "../permissions/policySelection.ts";
import { buildRiskSubject, type RiskSubject } from "../permissions/riskSubject.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { findMissingRules, intersectRules, isEmptyRules } from "../rbac/ruleSets.ts";
import { type BundleRulesServices, type DerivedRules, deriveBundleRules, deriveSourceRules } from "./bundleRules.ts";
import { type CreatedNamespaces, type ExistingNamespace, UnusableNamespace } from "./createdNamespaces.ts";
import type { GrantedObjects } from "./grantWriter.ts";
import type { GrantOutcome } from "./permissionStatus.ts";

/** What a decision reads. */
export interface DeciderServices extends BundleRulesServices {
  readonly api: Pick<Client, "get">;
  readonly known: { readonly policies: { get(name: string): PermissionPolicy | undefined } };
  readonly namespaces: Pick<CreatedNamespaces, "find">;
  readonly defaultGrant: PolicyGrant;
}

/** The objects of one reconcile. */
export interface DecisionSubject {
  readonly permissions: Readonly<ExtensionPermissions>;
  readonly extension: Readonly<ClusterExtension>;
  readonly granted: GrantedObjects;
}

/** A decision, and what it is based on. */
export interface Decision {
  readonly outcome: GrantOutcome;
  readonly policy?: PermissionPolicySpec;
  readonly derived?: DerivedRules;
  /** The permissions of the extension while nothing is changed, if it has no others now. */
  readonly readRules?: RequiredRules;
  /** The namespace of the extension, if it gets its first permissions there. */
  readonly first?: { readonly existing: ExistingNamespace | undefined };
  readonly error?: unknown;
}

/** The reason for no decision: the extension requests nothing, or its bundle is being pulled. The end of the pull triggers the next reconcile. */
export type Undecided = "nothing requested" | "pulling";

/** Decides which permissions extensions get. Reads only; PermissionReconciler writes. */
export class RequestDecider {
  readonly #services: DeciderServices;
  /** Extensions whose rules change when their bundle becomes healthy. */
  readonly #awaitsHealth = new Set<string>();
  /** Digests of approved rules by extension: a revocation must not be missed if the last status was not written. */
  readonly #approved = new Map<string, string>();

  constructor(services: DeciderServices) {
    this.#services = services;
  }

  /** Reports whether the rules of an extension change when its bundle becomes healthy. */
  awaitsHealth(name: string): boolean {
    return this.#awaitsHealth.has(name);
  }

  /** Reports whether the approval of the current rules was removed. */
  isRevoked(subject: DecisionSubject): boolean {
    return isApprovalRevoked(this.#getApproval(subject));
  }

  /** Forgets the approval of an extension, after its removal was reported. */
  forgetApproval(name: string): void {
    this.#approved.delete(name);
  }

  /** Forgets an extension without a request. */
  forget(name: string): void {
    this.#awaitsHealth.delete(name);
    this.#approved.delete(name);
  }

  /** Decides about the request. An extension keeps its rules if the decision fails. */
  async decide(subject: DecisionSubject, signal: AbortSignal): Promise<Decision | Undecided> {
    const { permissions, extension, granted } = subject;
    const requested = permissions.spec?.bundle;
    const known = extension.spec.namespace ?? permissions.status?.namespace;
    const needsSources = extension.spec.config?.valuesFrom !== undefined && known !== undefined;
    if (!requested && !needsSources) return "nothing requested";
    const policyName = getPolicyName(extension);
    const policy = this.findPolicy(policyName);
    if (!policy)
      return { outcome: rejectUndecided(subject, "Denied", `PermissionPolicy ${goQuote(policyName)} does not exist: create it`) };
    try {
      const derived = requested
        ? await deriveBundleRules(this.#services, extension, known, requested, permissions.status, signal)
        : deriveSourceRules(extension, known ?? "", this.#services.systemNamespace);
      if (!derived) return "pulling";
      const { rules, subject: riskSubject, catalog, namespace } = derived;
      const packageName = requested?.packageName ?? extension.spec.source.catalog?.packageName ?? "";
      const problem = findPolicyProblem(policy, buildPolicyTarget(packageName, namespace.name, catalog), rules);
      if (problem !== undefined) return { outcome: this.#reject(subject, "Denied", `PermissionPolicy ${goQuote(policyName)}: ${problem}`) };
      // The ServiceAccount is in the namespace.
      const hasAccount = granted.objects.some(({ kind, metadata }) => kind === "ServiceAccount" && metadata.namespace === namespace.name);
      const first = hasAccount ? undefined : { existing: await this.#services.namespaces.find(extension, namespace.name, policy) };
      const judged = judgePermissions(rules, policy, riskSubject);
      const { name } = extension.metadata;
      const exceedsRequest = (other: RequiredRules): boolean => !isEmptyRules(findMissingRules(other, toRules(judged)));
      const isHealthy = requested !== undefined && isInstalledAndHealthy(extension, requested);
      const isSettled = isHealthy && !(exceedsRequest(granted.rules) && (await this.#isChanging(name, signal)));
      const judgedCurrent = this.#judgeCurrent(subject, policy, riskSubject);
      const plan = planGrant({ current: granted.rules, judged, judgedCurrent, ...this.#getApproval(subject), isSettled });
      if (plan.approvedDigest !== undefined) this.#approved.set(name, plan.approvedDigest);
      if (!isSettled && (policy.standing === "WhileChanging" || exceedsRequest(plan.rules))) this.#awaitsHealth.add(name);
      else this.#awaitsHealth.delete(name);
      const readRules = this.#computeReadRules(subject, policy, isSettled ? derived : undefined, plan);
      const outcome: GrantOutcome = {
        kind: "planned",
        plan,
        bundle: requested,
        before: granted.rules,
        risks: judged.filter(({ outcome, risk }) => risk !== undefined && (outcome === "Granted" || plan.state === "Granted")),
        access: readRules ? "ReadOnly" : "Full",
      };
      return { outcome, policy, derived, ...(readRules ? { readRules } : {}), ...(first ? { first } : {}) };
    } catch (err) {
      signal.throwIfAborted();
      return { outcome: this.rejectFor(subject, err), error: err };
    }
  }

  /**
   * Reports whether operator-controller still needs the rules of an earlier bundle. Reads the request from the API server, because the informer may know
   * that the bundle is healthy before it knows this.
   */
  async #isChanging(name: string, signal: AbortSignal): Promise<boolean> {
    const permissions = await this.#services.api.get<ExtensionPermissions>({ ...EXTENSION_PERMISSIONS, name }, { signal });
    return permissions?.spec?.isChanging === true;
  }

  /**
   * Returns the read permissions of an extension if the policy withholds its write permissions, because nothing is changed. While a version waits for an
   * approval or is denied, the installed version keeps its read permissions, and those that it had for a drift correction are withheld again.
   * @param settled the rules of the requested bundle, if it is installed and healthy
   */
  #computeReadRules(
    { permissions, extension, granted }: DecisionSubject,
    { standing }: PermissionPolicySpec,
    settled: DerivedRules | undefined,
    plan: GrantPlan,
  ): RequiredRules | undefined {
    if (standing !== "WhileChanging" || permissions.spec?.isChanging) return undefined;
    if (settled) return intersectRules(settled.computeReadRules(), plan.rules);
    if (plan.state === "Granted" || !extension.status?.install) return undefined;
    const isWithheld = permissions.status?.access === "ReadOnly";
    const read = isWithheld ? readReadOnlyRules(permissions.metadata.name, granted.objects) : selectReadRules(granted.rules);
    return intersectRules(read, plan.rules);
  }

  /** Returns the digest in the approval, and the one that was approved for the current rules. */
  #getApproval({ permissions }: DecisionSubject): { approvedDigest: string | undefined; lastApproved: string | undefined } {
    const { metadata, status } = permissions;
    return {
      approvedDigest: metadata.annotations?.[ANNOTATION_APPROVE],
      lastApproved: this.#approved.get(metadata.name) ?? status?.approvedDigest,
    };
  }

  /**
   * Returns the rules that an extension keeps if nothing is known about the requested bundle: those that the policy does not deny. After its approval was
   * removed, also permissions on objects of the bundle count as permissions on objects of others.
   */
  keepRules(subject: DecisionSubject): RequiredRules {
    const { extension, granted, permissions } = subject;
    const policy = this.findPolicy(getPolicyName(extension));
    if (!policy) return granted.rules;
    const { systemNamespace } = this.#services;
    const riskSubject = buildRiskSubject({ installNamespace: permissions.status?.namespace ?? "", systemNamespace }, []);
    return keepRules(granted.rules, this.#judgeCurrent(subject, policy, riskSubject), this.isRevoked(subject));
  }

  /** Decides about the current rules. Empty if an extension keeps all: the policy denies nothing, and its approval was not removed. */
  #judgeCurrent(subject: DecisionSubject, policy: PermissionPolicySpec, riskSubject: RiskSubject): JudgedRule[] {
    const mayLose = (policy.deny?.length ?? 0) > 0 || this.isRevoked(subject);
    return mayLose ? judgePermissions(subject.granted.rules, policy, riskSubject) : [];
  }

  /** Returns the outcome for a request whose decision failed. */
  rejectFor(subject: DecisionSubject, err: unknown): GrantOutcome {
    return this.#reject(subject, err instanceof UnusableNamespace ? "Denied" : "Failed", getErrorMessage(err));
  }

  /** Returns the outcome for a request that is denied as a whole or cannot be verified. */
  #reject(subject: DecisionSubject, state: "Denied" | "Failed", message: string): GrantOutcome {
    const { permissions, granted } = subject;
    // operator-controller also corrects the drift of an installed bundle while the request is rejected.
    const access = permissions.status?.access === "ReadOnly" && !permissions.spec?.isChanging ? "ReadOnly" : "Full";
    return { kind: "rejected", state, message, rules: this.keepRules(subject), before: granted.rules, access };
  }

  /** Returns a policy. If policy default does not exist, its grant is `defaultGrant`, and everything else has the default of the API. */
  findPolicy(name: string): PermissionPolicySpec | undefined {
    const { known, defaultGrant } = this.#services;
    return known.policies.get(name)?.spec ?? (name === DEFAULT_POLICY ? { grant: defaultGrant } : undefined);
  }
}

/** Reports whether the requested bundle is installed and healthy. */
function isInstalledAndHealthy({ metadata, status }: Readonly<ClusterExtension>, { name, version }: RequestedBundle): boolean {
  const installed = status?.install?.bundle;
  if (installed?.name !== name || installed.version !== version) return false;
  const ready = findCondition(status?.conditions, ConditionType.Ready);
  return ready?.status === "True" && ready.observedGeneration === metadata.generation;
}

/** Returns the outcome for a request about which nothing can be decided. The extension keeps its rules. */
export function rejectUndecided(
  { permissions, granted: { rules } }: DecisionSubject,
  state: "Denied" | "Failed",
  message: string,
): GrantOutcome {
  return { kind: "rejected", state, message, rules, before: rules, access: permissions.status?.access ?? "Full" };
}
