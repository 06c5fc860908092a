import { type GroupVersionKind, groupOf, type KubeObject } from "../../api/k8s.ts";
import { crdHealth, jobHealth, serviceHealth, volumeClaimHealth } from "./coreHealth.ts";
import { injectionHealth, isInjected } from "./injectionHealth.ts";
import { conditionsOf, numberAt, textAt } from "./members.ts";
import { podHealth } from "./podHealth.ts";
import { HEALTHY, type Health, health } from "./verdict.ts";
import { daemonSetHealth, deploymentHealth, replicaSetHealth, statefulSetHealth } from "./workloadHealth.ts";

type HealthOf = (object: KubeObject, now: number) => Health;

/** Kinds with rules of their own, by "group/Kind"; asked once the rules for all kinds have found nothing. */
const BY_KIND: Readonly<Record<string, HealthOf>> = {
  "/PersistentVolumeClaim": volumeClaimHealth,
  "/Pod": podHealth,
  "/Service": serviceHealth,
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": injectionHealth,
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": injectionHealth,
  "apiextensions.k8s.io/CustomResourceDefinition": crdHealth,
  "apiregistration.k8s.io/APIService": apiServiceHealth,
  "apps/DaemonSet": daemonSetHealth,
  "apps/Deployment": deploymentHealth,
  "apps/ReplicaSet": replicaSetHealth,
  "apps/StatefulSet": statefulSetHealth,
  "batch/Job": jobHealth,
  "policy/PodDisruptionBudget": () => HEALTHY,
};

/**
 * Whether an object that is on the cluster does what it is there for, by the rules of kstatus, which kubectl, Flux and Argo CD users know.
 * Beyond them: an APIService is asked for Available, a Deployment tells why its ReplicaSet cannot create Pods, and an object into which a CA
 * is to be injected waits for that.
 * @param now milliseconds since the epoch; a Pod is given some time to be scheduled.
 * @see https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
 */
export function healthOf(object: KubeObject, now: number): Health {
  return commonHealth(object) ?? BY_KIND[kindKey(object)]?.(object, now) ?? genericHealth(object);
}

/**
 * Whether it is worth reading an object of a release for its health: false for kinds that are as they should be as soon as they exist, such
 * as a ConfigMap or a Role. Custom resources count, whatever their kind: they may have a condition Ready.
 */
export function hasHealth(object: KubeObject): boolean {
  const key = kindKey(object);
  if (key === "/Service") return textAt(object, "spec.type") === "LoadBalancer";
  if (key.startsWith("admissionregistration.k8s.io/")) return isInjected(object);
  return mayHaveHealth(object);
}

/** The same as far as the kind alone tells it. */
export function mayHaveHealth(kind: GroupVersionKind): boolean {
  const group = groupOf(kind.apiVersion);
  return kindKey(kind) in BY_KIND || (group.includes(".") && !group.endsWith(".k8s.io") && !group.endsWith(".openshift.io"));
}

function kindKey({ apiVersion, kind }: GroupVersionKind): string {
  return `${groupOf(apiVersion)}/${kind}`;
}

/** What holds for every kind, before its own rules. */
function commonHealth(object: KubeObject): Health | undefined {
  if (object.metadata.deletionTimestamp) return health("progressing", "Terminating", "it is being deleted");
  const { generation } = object.metadata;
  const observed = numberAt(object, "status.observedGeneration", -1);
  if (generation !== undefined && observed !== -1 && observed !== generation) {
    return health("progressing", "LatestGenerationNotObserved", "its controller has not seen its latest change yet");
  }
  for (const { type, status, reason, message } of conditionsOf(object)) {
    if (type === "Reconciling" && status === "True") return health("progressing", reason || "Reconciling", message);
    if (type === "Stalled" && status === "True") return health("failed", reason || "Stalled", message);
  }
  return undefined;
}

/** A kind that nobody here knows is healthy unless its condition Ready says otherwise. */
function genericHealth(object: KubeObject): Health {
  const ready = conditionsOf(object).find(({ type }) => type === "Ready");
  if (ready === undefined || ready.status === "True") return injectionHealth(object);
  return health("progressing", ready.reason || "NotReady", said("Ready", ready));
}

/** A kind whose controller always writes this condition sooner or later. */
function conditionHealth(object: KubeObject, type: string): Health {
  const condition = conditionsOf(object).find((other) => other.type === type);
  if (condition?.status === "True") return HEALTHY;
  if (!condition) return health("progressing", `No${type}`, `it has no condition ${type} yet`);
  return health("progressing", condition.reason || `Not${type}`, said(type, condition));
}

/** Without its CA the API server does not even try to call it, and its condition says so in other words. */
function apiServiceHealth(object: KubeObject): Health {
  const injection = injectionHealth(object);
  return injection === HEALTHY ? conditionHealth(object, "Available") : injection;
}

function said(type: string, { status, reason, message }: { status: string; reason: string; message: string }): string {
  const because = [reason, message].filter((text) => text !== "").join(": ");
  return `condition ${type} is ${status || "empty"}${because === "" ? "" : ` (${because})`}`;
}
