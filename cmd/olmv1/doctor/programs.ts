import { findCondition } from "../../../pkg/api/conditions.ts";
import type { Condition } from "../../../pkg/api/k8s.ts";
import type { DoctorFacts, ProgramFacts } from "./facts.ts";
import { about, type Finding } from "./finding.ts";

/** What is read of a Deployment. */
export interface Deployment {
  spec?: { replicas?: number; template?: { spec?: { containers?: { image?: string; args?: string[] }[] } } };
  status?: { readyReplicas?: number; updatedReplicas?: number; conditions?: Condition[] };
}

interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  renewTime?: string;
}

/** A program's Deployment; undefined where there is none that may be seen. */
export function deploymentOf({ deployment }: ProgramFacts): Deployment | undefined {
  return "value" in deployment ? (deployment.value as Deployment | undefined) : undefined;
}

/** Whether as many replicas of each program are ready as there are to be, and all of the same version. */
export function checkDeployments({ programs, namespace }: DoctorFacts, version: string): Finding[] {
  const findings = programs.flatMap((facts) => {
    const check = `Deployment ${facts.program}-controller-manager`;
    return about(check, facts.deployment, (): Finding[] => [deploymentFinding(check, deploymentOf(facts), namespace)]);
  });
  return [...findings, ...checkVersions(programs, version)];
}

function deploymentFinding(check: string, deployment: Deployment | undefined, namespace: string): Finding {
  if (!deployment) {
    const message = `it does not exist in namespace ${namespace}`;
    return {
      check,
      status: "problem",
      message,
      next: "name its namespace with --system-namespace, or install it: kubectl apply -k config",
    };
  }
  const { spec: { replicas = 1 } = {}, status: { readyReplicas = 0, updatedReplicas = 0, conditions } = {} } = deployment;
  const next = `kubectl -n ${namespace} describe ${check.toLowerCase().replace(" ", "/")}`;
  if (replicas === 0) return { check, status: "problem", message: "it is scaled to 0: nothing runs", next };
  if (readyReplicas < replicas) {
    const failure = conditions?.find(({ type, status }) => type === "ReplicaFailure" && status === "True");
    const stuck = failure ?? conditions?.find(({ type, status }) => type === "Progressing" && status === "False");
    const message = `${readyReplicas} of ${replicas} replicas are ready${stuck ? `: ${stuck.message}` : ""}`;
    return { check, status: readyReplicas === 0 || stuck ? "problem" : "warning", message, next };
  }
  if (updatedReplicas < replicas)
    return { check, status: "warning", message: `${updatedReplicas} of ${replicas} replicas are of the last update`, next };
  if (findCondition(conditions, "Available")?.status === "False") return { check, status: "problem", message: "it is not available", next };
  return { check, status: "ok", message: replicas === 1 ? "1 replica is ready" : `all ${replicas} replicas are ready` };
}

/** Only tags that are versions say one. */
function checkVersions(programs: readonly ProgramFacts[], version: string): Finding[] {
  const images = programs.flatMap((facts) => deploymentOf(facts)?.spec?.template?.spec?.containers?.[0]?.image ?? []);
  if (images.length < 2) return [];
  const check = "versions";
  const [first = "", second = ""] = images;
  if (first !== second) {
    const message = `the programs run different images: ${images.join(" and ")}`;
    return [{ check, status: "warning", message, next: "give both Deployments the same image: they are one product" }];
  }
  const tag = /:v?(\d+\.\d+\.\d+[^:/@]*)$/.exec(first)?.[1];
  if (tag === undefined)
    return [{ check, status: "ok", message: `both programs run ${first}, whose tag tells no version; this olmv1 is ${version}` }];
  if (tag === version) return [{ check, status: "ok", message: `programs and this olmv1 are ${version}` }];
  const message = `the programs are ${tag}, this olmv1 is ${version}: it may know other fields and rules than they`;
  return [{ check, status: "warning", message, next: `take the olmv1 of ${first}, or update the programs` }];
}

/** Whether each program has a leader that renews its Lease. */
export function checkLeases({ programs, now, namespace }: DoctorFacts): Finding[] {
  return programs.flatMap((facts) => {
    const check = `leader of ${facts.program}`;
    const args = deploymentOf(facts)?.spec?.template?.spec?.containers?.[0]?.args ?? ["--leader-elect"];
    if (!args.some((arg) => arg.startsWith("--leader-elect"))) return [];
    // Where there is no Deployment either, that is told already.
    const isAbsent = "value" in facts.lease && !facts.lease.value && "value" in facts.deployment && !facts.deployment.value;
    if (isAbsent) return [];
    return about(check, facts.lease, (live): Finding[] => [
      leaseFinding(check, live?.["spec"] as LeaseSpec | undefined, { now, namespace }),
    ]);
  });
}

function leaseFinding(check: string, lease: LeaseSpec | undefined, { now, namespace }: { now: number; namespace: string }): Finding {
  const next = `kubectl -n ${namespace} logs deployment/${check.replace("leader of ", "")}-controller-manager`;
  if (!lease) return { check, status: "problem", message: "nobody has ever led", next };
  const { holderIdentity = "", leaseDurationSeconds = 0, renewTime = "" } = lease;
  if (holderIdentity === "") return { check, status: "problem", message: "nobody leads since the last one stopped", next };
  const silentS = Math.max(Math.round((now - Date.parse(renewTime)) / 1_000), 0);
  if (!(silentS <= leaseDurationSeconds)) {
    const message = `${holderIdentity} has not renewed its Lease for ${silentS} s, of ${leaseDurationSeconds} s that it holds`;
    return { check, status: "problem", message, next };
  }
  return { check, status: "ok", message: `${holderIdentity}, renewed ${silentS} s ago` };
}
