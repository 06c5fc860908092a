import type { KubeObject } from "../../api/k8s.ts";
import { injectionHealth } from "./injectionHealth.ts";
import { conditionsOf, numberAt, textAt } from "./members.ts";
import { HEALTHY, type Health, health } from "./verdict.ts";

/** A PersistentVolumeClaim: bound. */
export function volumeClaimHealth(object: KubeObject): Health {
  const phase = textAt(object, "status.phase", "unknown");
  return phase === "Bound" ? HEALTHY : health("progressing", "NotBound", `it is not bound, its phase is ${phase}`);
}

/** A Service: ready, but one of type LoadBalancer has an address first. */
export function serviceHealth(object: KubeObject): Health {
  const waits = textAt(object, "spec.type") === "LoadBalancer" && textAt(object, "spec.clusterIP") === "";
  return waits ? health("progressing", "NoIPAssigned", "it has no cluster IP yet") : HEALTHY;
}

/** A Job: started, and not failed; it need not have completed. */
export function jobHealth(object: KubeObject): Health {
  const isTrue = (wanted: string): boolean => conditionsOf(object).some(({ type, status }) => type === wanted && status === "True");
  if (isTrue("Failed")) {
    const reason = conditionsOf(object).find(({ type }) => type === "Failed");
    const because = [reason?.reason, reason?.message].filter((text) => text).join(": ");
    const failed = numberAt(object, "status.failed");
    return health("failed", "JobFailed", `it failed after ${failed} failed Pod${failed === 1 ? "" : "s"}${because ? ` (${because})` : ""}`);
  }
  if (isTrue("Complete") || isTrue("Suspended") || textAt(object, "status.startTime") !== "") return HEALTHY;
  return health("progressing", "JobNotStarted", "it has not started yet");
}

/** A CustomResourceDefinition: its names are accepted and the kind is served. */
export function crdHealth(object: KubeObject): Health {
  for (const { type, status, reason, message } of conditionsOf(object)) {
    if (type === "NamesAccepted" && status === "False") return health("failed", reason, `its names are not accepted: ${message}`);
    if (type !== "Established") continue;
    if (status === "True") return injectionHealth(object);
    if (status === "False" && reason !== "Installing") return health("failed", reason, `it is not served: ${message}`);
  }
  return health("progressing", "Installing", "it is not served yet");
}
