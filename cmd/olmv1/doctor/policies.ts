import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { type DoctorFacts, POLICIES, policyKey } from "./facts.ts";
import { about, type Finding } from "./finding.ts";

/** What its absence means; `isNeeded` where it is a part of every installation. */
const ABSENT: Readonly<Record<(typeof POLICIES)[number]["name"], Pick<Finding, "status" | "message" | "next">>> = {
  "operator-controller-dependencies": {
    status: "problem",
    message: "it does not exist: operator-controller could create and delete any extension",
    next: "kubectl apply -k config",
  },
  "clusterextension-service-accounts": {
    status: "warning",
    message: "it does not exist: whoever may write an extension may have it act as any ServiceAccount that operator-controller may",
    next: "kubectl apply -f config/samples/service-accounts.yaml",
  },
  "clustercatalog-name-label": {
    status: "ok",
    message: "it does not exist: catalogd labels catalogs with their names itself, a moment later",
  },
};

function absent(check: string, name: (typeof POLICIES)[number]["name"], namespace: string): Finding {
  const { next, ...found } = ABSENT[name];
  const todo = inNamespace(next, namespace);
  return { check, ...found, ...(todo === undefined ? {} : { next: todo }) };
}

/** The sample speaks of operator-controller's own ServiceAccount, by its namespace. */
function inNamespace(next: string | undefined, namespace: string): string | undefined {
  const [, sample] = /^kubectl apply -f (config\/samples\/\S+)$/.exec(next ?? "") ?? [];
  if (sample === undefined || namespace === SYSTEM_NAMESPACE) return next;
  return `sed s/${SYSTEM_NAMESPACE}/${namespace}/ ${sample} | kubectl apply -f -`;
}

/** Whether the admission policies are in force. */
export function checkPolicies({ policies, namespace }: DoctorFacts): Finding[] {
  return POLICIES.flatMap((ref): Finding[] => {
    const check = policyKey(ref);
    return about(check, policies.get(check) ?? { value: undefined }, (live): Finding[] =>
      live ? [{ check, status: "ok", message: "in force" }] : [absent(check, ref.name, namespace)],
    );
  });
}

/** Whether somebody collects metrics. */
export function checkMetrics({ monitors, namespace }: DoctorFacts): Finding[] {
  const check = "metrics";
  return about(check, monitors, (found: readonly KubeObject[] | undefined): Finding[] => {
    if (!found) return [{ check, status: "ok", message: "the cluster has no Prometheus operator; the programs serve them all the same" }];
    const names = found.map(({ metadata }) => metadata.name).filter((name) => name === "catalogd" || name === "operator-controller");
    if (names.length === 2) return [{ check, status: "ok", message: "collected by ServiceMonitors, if Prometheus may get them" }];
    const message = `no ServiceMonitor in namespace ${namespace}: nobody is told when catalogs or extensions fail`;
    return [{ check, status: "warning", message, next: "kubectl apply -k config/prometheus" }];
  });
}
