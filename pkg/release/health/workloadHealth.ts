import type { KubeObject } from "../../api/k8s.ts";
import { conditionsOf, numberAt, textAt } from "./members.ts";
import { HEALTHY, type Health, health } from "./verdict.ts";

/** What the Deployment controller writes into `progressDeadlineSeconds` for "no deadline"; such a Deployment has no condition Progressing. */
const NO_DEADLINE = 2 ** 31 - 1;

/** A row of a table: when the left number is the smaller, this reason and these words. */
type Row = readonly [reason: string, have: number, want: number, words: string];

function firstShort(rows: readonly Row[]): Health | undefined {
  const row = rows.find(([, have, want]) => have < want);
  if (!row) return undefined;
  const [reason, have, want, words] = row;
  return health("progressing", reason, `${have} of ${want} replicas are ${words}`);
}

function pendingTermination(have: number, want: number): Health | undefined {
  if (have <= want) return undefined;
  const pods = have - want === 1 ? "1 Pod is" : `${have - want} Pods are`;
  return health("progressing", "ExtraPods", `${pods} still to be removed`);
}

/** A Deployment: all replicas updated and available, and none left of before. */
export function deploymentHealth(object: KubeObject): Health {
  const conditions = conditionsOf(object);
  const find = (wanted: string): (typeof conditions)[number] | undefined => conditions.find(({ type }) => type === wanted);
  const failure = find("ReplicaFailure");
  if (failure?.status === "True") return health("failed", failure.reason || "ReplicaFailure", cannotCreate(failure.message));
  const progressing = find("Progressing");
  if (progressing?.reason === "ProgressDeadlineExceeded") {
    return health("failed", "ProgressDeadlineExceeded", `its own progress deadline is exceeded: ${progressing.message}`);
  }
  const want = numberAt(object, "spec.replicas", 1);
  const [all, updated] = [numberAt(object, "status.replicas"), numberAt(object, "status.updatedReplicas")];
  const [ready, available] = [numberAt(object, "status.readyReplicas"), numberAt(object, "status.availableReplicas")];
  const short =
    firstShort([
      ["LessReplicas", all, want, "created"],
      ["LessUpdated", updated, want, "updated"],
    ]) ??
    pendingTermination(all, want) ??
    firstShort([
      ["LessAvailable", available, updated, "available"],
      ["LessReady", ready, want, "ready"],
    ]);
  if (short) return short;
  const hasDeadline = numberAt(object, "spec.progressDeadlineSeconds", NO_DEADLINE) !== NO_DEADLINE;
  if (hasDeadline && !(progressing?.status === "True" && progressing.reason === "NewReplicaSetAvailable"))
    return health("progressing", "ReplicaSetNotAvailable", "its new ReplicaSet is not available yet");
  if (find("Available")?.status !== "True") return health("progressing", "DeploymentNotAvailable", "it is not available yet");
  return HEALTHY;
}

/** A ReplicaSet: all replicas labelled, available and ready, and none too many. */
export function replicaSetHealth(object: KubeObject): Health {
  const failure = conditionsOf(object).find(({ type, status }) => type === "ReplicaFailure" && status === "True");
  if (failure) return health("progressing", "ReplicaFailure", cannotCreate(failure.message));
  const want = numberAt(object, "spec.replicas", 1);
  const short =
    firstShort([
      ["LessLabelled", numberAt(object, "status.fullyLabeledReplicas"), want, "labelled"],
      ["LessAvailable", numberAt(object, "status.availableReplicas"), want, "available"],
      ["LessReady", numberAt(object, "status.readyReplicas"), want, "ready"],
    ]) ?? pendingTermination(numberAt(object, "status.replicas"), want);
  return short ?? HEALTHY;
}

/** A StatefulSet: all replicas ready and of one revision, or as many updated as its partition asks for. One that is updated by hand is healthy. */
export function statefulSetHealth(object: KubeObject): Health {
  if (textAt(object, "spec.updateStrategy.type") === "OnDelete") return HEALTHY;
  const want = numberAt(object, "spec.replicas", 1);
  const all = numberAt(object, "status.replicas");
  const short =
    firstShort([
      ["LessReplicas", all, want, "created"],
      ["LessReady", numberAt(object, "status.readyReplicas"), want, "ready"],
    ]) ?? pendingTermination(all, want);
  if (short) return short;
  const partition = numberAt(object, "spec.updateStrategy.rollingUpdate.partition", -1);
  if (partition !== -1) {
    const updated = numberAt(object, "status.updatedReplicas");
    return firstShort([["PartitionRollout", updated, want - partition, "updated"]]) ?? HEALTHY;
  }
  const behind = firstShort([["LessCurrent", numberAt(object, "status.currentReplicas"), want, "current"]]);
  if (behind) return behind;
  if (textAt(object, "status.currentRevision") !== textAt(object, "status.updateRevision"))
    return health("progressing", "RevisionMismatch", "its replicas are not all of the latest revision yet");
  return HEALTHY;
}

/** A DaemonSet: scheduled, updated, available and ready on every node that it wants. */
export function daemonSetHealth(object: KubeObject): Health {
  if (object.metadata.generation === undefined) return health("progressing", "NoGeneration", "it has no generation");
  if (numberAt(object, "status.observedGeneration", -1) === -1)
    return health("progressing", "NoObservedGeneration", "its controller has not seen it yet");
  const want = numberAt(object, "status.desiredNumberScheduled", -1);
  if (want === -1) return health("progressing", "NoDesiredNumber", "its controller has not counted the nodes yet");
  const short = firstShort([
    ["LessCurrent", numberAt(object, "status.currentNumberScheduled"), want, "scheduled"],
    ["LessUpdated", numberAt(object, "status.updatedNumberScheduled"), want, "updated"],
    ["LessAvailable", numberAt(object, "status.numberAvailable"), want, "available"],
    ["LessReady", numberAt(object, "status.numberReady"), want, "ready"],
  ]);
  return short ?? HEALTHY;
}

function cannotCreate(message: string): string {
  return `its Pods cannot be created: ${message || "its ReplicaSet does not say why"}`;
}
