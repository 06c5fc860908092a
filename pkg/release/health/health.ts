import { ANNOTATION_INJECT_CA_FROM_SECRET } from "../../api/constants.ts";
import { type GroupVersionKind, getGroup, type JsonObject, type KubeObject } from "../../api/k8s.ts";
import { isApiService } from "../../bundle/apiServices.ts";
import { formatCount, formatList } from "../../text/lists.ts";
import { createHealth, getListAt, getMemberAt, getNumberAt, getTextAt, HEALTHY, type Health, readConditions } from "./healthState.ts";
import { computePodHealth } from "./pods.ts";

/** The value of `progressDeadlineSeconds` that means no deadline for the Deployment controller. Such a Deployment has no condition Progressing. */
const NO_DEADLINE = 2 ** 31 - 1;

/** A check: if `have` is less than `want`, the health has this reason and wording. */
type HealthRow = readonly [reason: string, have: number, want: number, words: string];

function firstShort(rows: readonly HealthRow[]): Health | undefined {
  const row = rows.find(([, have, want]) => have < want);
  if (!row) return undefined;
  const [reason, have, want, words] = row;
  return createHealth("progressing", reason, `${have} of ${want} replicas are ${words}`);
}

function formatPendingTermination(have: number, want: number): Health | undefined {
  if (have <= want) return undefined;
  const extra = have - want;
  return createHealth("progressing", "ExtraPods", `${formatCount(extra, "extra Pod")} ${extra === 1 ? "is" : "are"} not deleted yet`);
}

/** Deployment: all replicas are updated and available, and no old replicas exist. */
function computeDeploymentHealth(object: KubeObject): Health {
  const conditions = readConditions(object);
  const find = (desired: string): (typeof conditions)[number] | undefined => conditions.find(({ type }) => type === desired);
  const failure = find("ReplicaFailure");
  if (failure?.status === "True") return createHealth("failed", failure.reason || "ReplicaFailure", explainDeniedCreate(failure.message));
  const progressing = find("Progressing");
  if (progressing?.reason === "ProgressDeadlineExceeded") {
    return createHealth("failed", "ProgressDeadlineExceeded", `its progressDeadlineSeconds is exceeded: ${progressing.message}`);
  }
  const want = getNumberAt(object, "spec.replicas", 1);
  const [all, updated] = [getNumberAt(object, "status.replicas"), getNumberAt(object, "status.updatedReplicas")];
  const [ready, available] = [getNumberAt(object, "status.readyReplicas"), getNumberAt(object, "status.availableReplicas")];
  const short =
    firstShort([
      ["LessReplicas", all, want, "created"],
      ["LessUpdated", updated, want, "updated"],
    ]) ??
    formatPendingTermination(all, want) ??
    firstShort([
      ["LessAvailable", available, updated, "available"],
      ["LessReady", ready, want, "ready"],
    ]);
  if (short) return short;
  const hasDeadline = getNumberAt(object, "spec.progressDeadlineSeconds", NO_DEADLINE) !== NO_DEADLINE;
  if (hasDeadline && !(progressing?.status === "True" && progressing.reason === "NewReplicaSetAvailable"))
    return createHealth("progressing", "ReplicaSetNotAvailable", "its new ReplicaSet is not available yet");
  if (find("Available")?.status !== "True") return createHealth("progressing", "DeploymentNotAvailable", "it is not available yet");
  return HEALTHY;
}

/** ReplicaSet: all replicas are labelled, available and ready, and there are no extra ones. */
function computeReplicaSetHealth(object: KubeObject): Health {
  const failure = readConditions(object).find(({ type, status }) => type === "ReplicaFailure" && status === "True");
  if (failure) return createHealth("progressing", "ReplicaFailure", explainDeniedCreate(failure.message));
  const want = getNumberAt(object, "spec.replicas", 1);
  const short =
    firstShort([
      ["LessLabelled", getNumberAt(object, "status.fullyLabeledReplicas"), want, "labelled"],
      ["LessAvailable", getNumberAt(object, "status.availableReplicas"), want, "available"],
      ["LessReady", getNumberAt(object, "status.readyReplicas"), want, "ready"],
    ]) ?? formatPendingTermination(getNumberAt(object, "status.replicas"), want);
  return short ?? HEALTHY;
}

/**
 * StatefulSet: all replicas are ready, and either all have the same revision or as many are updated as its partition requires. Always healthy with
 * update strategy OnDelete.
 */
function computeStatefulSetHealth(object: KubeObject): Health {
  if (getTextAt(object, "spec.updateStrategy.type") === "OnDelete") return HEALTHY;
  const want = getNumberAt(object, "spec.replicas", 1);
  const all = getNumberAt(object, "status.replicas");
  const short =
    firstShort([
      ["LessReplicas", all, want, "created"],
      ["LessReady", getNumberAt(object, "status.readyReplicas"), want, "ready"],
    ]) ?? formatPendingTermination(all, want);
  if (short) return short;
  const partition = getNumberAt(object, "spec.updateStrategy.rollingUpdate.partition", -1);
  if (partition !== -1) {
    const updated = getNumberAt(object, "status.updatedReplicas");
    return firstShort([["PartitionRollout", updated, want - partition, "updated"]]) ?? HEALTHY;
  }
  const behind = firstShort([["LessCurrent", getNumberAt(object, "status.currentReplicas"), want, "current"]]);
  if (behind) return behind;
  if (getTextAt(object, "status.currentRevision") !== getTextAt(object, "status.updateRevision"))
    return createHealth("progressing", "RevisionMismatch", "not all of its replicas are at the latest revision yet");
  return HEALTHY;
}

/** DaemonSet: scheduled, updated, available and ready on every desired node. */
function computeDaemonSetHealth(object: KubeObject): Health {
  if (object.metadata.generation === undefined) return createHealth("progressing", "NoGeneration", "it has no generation");
  if (getNumberAt(object, "status.observedGeneration", -1) === -1)
    return createHealth("progressing", "NoObservedGeneration", "its controller has not processed it yet");
  const want = getNumberAt(object, "status.desiredNumberScheduled", -1);
  if (want === -1) return createHealth("progressing", "NoDesiredNumber", "its controller has not determined the number of nodes yet");
  const short = firstShort([
    ["LessCurrent", getNumberAt(object, "status.currentNumberScheduled"), want, "scheduled"],
    ["LessUpdated", getNumberAt(object, "status.updatedNumberScheduled"), want, "updated"],
    ["LessAvailable", getNumberAt(object, "status.numberAvailable"), want, "available"],
    ["LessReady", getNumberAt(object, "status.numberReady"), want, "ready"],
  ]);
  return short ?? HEALTHY;
}

function explainDeniedCreate(message: string): string {
  return `its Pods cannot be created: ${message || "its ReplicaSet reports no reason"}`;
}

/** Annotations that request the injection of a CA certificate. */
const INJECTED_BY: Readonly<Record<string, string>> = {
  "cert-manager.io/inject-ca-from": "cert-manager",
  "cert-manager.io/inject-ca-from-secret": "cert-manager",
  "service.beta.openshift.io/inject-cabundle": "the service CA operator",
  [ANNOTATION_INJECT_CA_FROM_SECRET]: "operator-controller",
};

/** Reports whether the object requests the injection of a CA. */
function isInjected(object: KubeObject): boolean {
  return getAnnotation(object) !== undefined;
}

/**
 * Webhook configuration, CustomResourceDefinition with a conversion webhook, or APIService: its CA is injected, because the API server cannot call
 * the webhook or API service without it. The health of the server itself is that of its workload, which is also an object of the bundle.
 */
function computeInjectionHealth(object: KubeObject): Health {
  const annotation = getAnnotation(object);
  if (annotation === undefined) return HEALTHY;
  const waiting = clientConfigs(object).filter(({ config }) => getTextAt(config, "caBundle") === "");
  const [first] = waiting;
  if (!first) return HEALTHY;
  const names = formatList([first.name], { max: 1, total: waiting.length });
  return createHealth("progressing", "NoCABundle", `${names} has no CA yet; ${INJECTED_BY[annotation]} must inject it`);
}

function getAnnotation({ metadata: { annotations } }: KubeObject): string | undefined {
  return Object.keys(INJECTED_BY).find((name) => annotations?.[name]);
}

function clientConfigs(object: KubeObject): { name: string; config: JsonObject }[] {
  if (isApiService(object)) return getListAt({ list: [object["spec"]] }, "list").map((config) => ({ name: "its Service", config }));
  const conversion = getMemberAt(object, "spec.conversion.webhook.clientConfig");
  const own = getListAt({ list: [conversion] }, "list").map((config) => ({ name: "its conversion webhook", config }));
  const webhooks = getListAt(object, "webhooks").flatMap((webhook) =>
    getListAt({ list: [webhook["clientConfig"]] }, "list").map((config) => ({ name: `webhook ${getTextAt(webhook, "name")}`, config })),
  );
  return [...own, ...webhooks];
}

/** PersistentVolumeClaim: bound. */
function computeVolumeClaimHealth(object: KubeObject): Health {
  const phase = getTextAt(object, "status.phase", "unknown");
  return phase === "Bound" ? HEALTHY : createHealth("progressing", "NotBound", `it is not bound: its phase is ${phase}`);
}

/** Service: ready; one of type LoadBalancer must have an address. */
function computeServiceHealth(object: KubeObject): Health {
  const waits = getTextAt(object, "spec.type") === "LoadBalancer" && getTextAt(object, "spec.clusterIP") === "";
  return waits ? createHealth("progressing", "NoIPAssigned", "it has no cluster IP yet") : HEALTHY;
}

/** Job: started and not failed. It does not need to be complete. */
function computeJobHealth(object: KubeObject): Health {
  const isTrue = (desired: string): boolean => readConditions(object).some(({ type, status }) => type === desired && status === "True");
  if (isTrue("Failed")) {
    const reason = readConditions(object).find(({ type }) => type === "Failed");
    const because = [reason?.reason, reason?.message].filter((text) => text).join(": ");
    const failed = getNumberAt(object, "status.failed");
    return createHealth("failed", "JobFailed", `it failed after ${formatCount(failed, "failed Pod")}${because ? ` (${because})` : ""}`);
  }
  if (isTrue("Complete") || isTrue("Suspended") || getTextAt(object, "status.startTime") !== "") return HEALTHY;
  return createHealth("progressing", "JobNotStarted", "it has not started yet");
}

/** CustomResourceDefinition: its names are accepted and the kind is served. */
function computeCrdHealth(object: KubeObject): Health {
  for (const { type, status, reason, message } of readConditions(object)) {
    if (type === "NamesAccepted" && status === "False") return createHealth("failed", reason, `its names are not accepted: ${message}`);
    if (type !== "Established") continue;
    if (status === "True") return computeInjectionHealth(object);
    if (status === "False" && reason !== "Installing") return createHealth("failed", reason, `it is not served: ${message}`);
  }
  return createHealth("progressing", "Installing", "it is not served yet");
}

type HealthOf = (object: KubeObject, now: number) => Health;

/** Rules for specific kinds, by "group/Kind"; used if the rules for all kinds find nothing. */
const BY_KIND: Readonly<Record<string, HealthOf>> = {
  "/PersistentVolumeClaim": computeVolumeClaimHealth,
  "/Pod": computePodHealth,
  "/Service": computeServiceHealth,
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": computeInjectionHealth,
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": computeInjectionHealth,
  "apiextensions.k8s.io/CustomResourceDefinition": computeCrdHealth,
  "apiregistration.k8s.io/APIService": computeApiServiceHealth,
  "apps/DaemonSet": computeDaemonSetHealth,
  "apps/Deployment": computeDeploymentHealth,
  "apps/ReplicaSet": computeReplicaSetHealth,
  "apps/StatefulSet": computeStatefulSetHealth,
  "batch/Job": computeJobHealth,
  "policy/PodDisruptionBudget": () => HEALTHY,
};

/**
 * Computes the health of an object by the rules of kstatus, which kubectl, Flux and Argo CD use. Additionally, an APIService must be Available,
 * a Deployment reports why its ReplicaSet cannot create Pods, and an object with CA injection waits for the CA.
 * @param now milliseconds since the epoch; a Pod has some time to be scheduled
 * @see https://github.com/kubernetes-sigs/cli-utils/blob/v0.37.2/pkg/kstatus/README.md
 */
export function computeHealth(object: KubeObject, now: number): Health {
  return computeCommonHealth(object) ?? BY_KIND[kindKey(object)]?.(object, now) ?? computeGenericHealth(object);
}

/**
 * Reports whether an object's health must be read. False for kinds that are healthy as soon as they exist, such as a ConfigMap or a Role. True
 * for all custom resources, which may have a condition Ready.
 */
export function hasHealth(object: KubeObject): boolean {
  const key = kindKey(object);
  if (key === "/Service") return getTextAt(object, "spec.type") === "LoadBalancer";
  if (key.startsWith("admissionregistration.k8s.io/")) return isInjected(object);
  return mayHaveHealth(object);
}

/** Reports whether there is a health check for the kind. */
export function mayHaveHealth(kind: GroupVersionKind): boolean {
  const group = getGroup(kind.apiVersion);
  return kindKey(kind) in BY_KIND || (group.includes(".") && !group.endsWith(".k8s.io") && !group.endsWith(".openshift.io"));
}

function kindKey({ apiVersion, kind }: GroupVersionKind): string {
  return `${getGroup(apiVersion)}/${kind}`;
}

/** Applies the rules for all kinds, before the rules of the kind. */
function computeCommonHealth(object: KubeObject): Health | undefined {
  if (object.metadata.deletionTimestamp) return createHealth("progressing", "Terminating", "it is being deleted");
  const { generation } = object.metadata;
  const observed = getNumberAt(object, "status.observedGeneration", -1);
  if (generation !== undefined && observed !== -1 && observed !== generation) {
    return createHealth("progressing", "LatestGenerationNotObserved", "its controller has not seen its latest change yet");
  }
  for (const { type, status, reason, message } of readConditions(object)) {
    if (type === "Reconciling" && status === "True") return createHealth("progressing", reason || "Reconciling", message);
    if (type === "Stalled" && status === "True") return createHealth("failed", reason || "Stalled", message);
  }
  return undefined;
}

/** Returns the health of a kind without own rules: healthy unless it has a condition Ready that is not True. */
function computeGenericHealth(object: KubeObject): Health {
  const ready = readConditions(object).find(({ type }) => type === "Ready");
  if (ready === undefined || ready.status === "True") return computeInjectionHealth(object);
  return createHealth("progressing", ready.reason || "NotReady", describeCondition("Ready", ready));
}

/** Returns the health of a kind whose controller eventually always writes this condition. */
function computeConditionHealth(object: KubeObject, type: string): Health {
  const condition = readConditions(object).find((other) => other.type === type);
  if (condition?.status === "True") return HEALTHY;
  if (!condition) return createHealth("progressing", `No${type}`, `it has no condition ${type} yet`);
  return createHealth("progressing", condition.reason || `Not${type}`, describeCondition(type, condition));
}

/**
 * An APIService without CA is reported as such, because the API server does not call the service and its condition Available has a misleading reason.
 */
function computeApiServiceHealth(object: KubeObject): Health {
  const injection = computeInjectionHealth(object);
  return injection === HEALTHY ? computeConditionHealth(object, "Available") : injection;
}

function describeCondition(type: string, { status, reason, message }: { status: string; reason: string; message: string }): string {
  const because = [reason, message].filter((text) => text !== "").join(": ");
  return `condition ${type} is ${status || "empty"}${because === "" ? "" : ` (${because})`}`;
}
