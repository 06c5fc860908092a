import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { findCondition } from "../api/conditions.ts";
import { SYSTEM_NAMESPACE } from "../api/constants.ts";
import type { Condition, KubeObject } from "../api/k8s.ts";
import { ageText } from "../golang/time.ts";
import { formatList } from "../text/lists.ts";
import { about, type ClusterSnapshot, type DoctorFinding, POLICIES, policyKey } from "./clusterSnapshot.ts";

/** A part of an OpenAPI schema. */
interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
}

/** The check of its version, which everybody may see. */
const API_SERVER = "API server";
const LEAST_MINOR = 30;
const APPLY = "kubectl apply -k config, or helm upgrade with the chart of this olmv1";
/** Names of fields that a message has. */
const NAMED_MAX = 5;

/** Whether the API server is recent enough. */
export function checkApiServer({ serverVersion }: ClusterSnapshot): DoctorFinding[] {
  const [, major = "0", minor = "0"] = /^v?(\d+)\.(\d+)/.exec(serverVersion) ?? [];
  const isRecent = Number(major) > 1 || Number(minor) >= LEAST_MINOR;
  const check = API_SERVER;
  if (isRecent) return [{ check, status: "ok", message: `Kubernetes ${serverVersion}` }];
  const message = `Kubernetes ${serverVersion} is older than 1.${LEAST_MINOR}: it has no ValidatingAdmissionPolicies`;
  return [{ check, status: "problem", message, next: "upgrade the cluster" }];
}

/**
 * Whether the definitions are there, served, and know every field that this olmv1 knows.
 * @param wanted the definitions of this olmv1, by name.
 */
export function checkDefinitions({ definitions }: ClusterSnapshot, wanted: ReadonlyMap<string, KubeObject>): DoctorFinding[] {
  return [...definitions].flatMap(([name, answer]) => {
    const check = `CustomResourceDefinition ${name}`;
    return about(check, answer, (live): DoctorFinding[] => {
      if (!live) return [{ check, status: "problem", message: "it does not exist: olmv1 is not installed", next: APPLY }];
      const { conditions } = (live["status"] ?? {}) as { conditions?: Condition[] };
      const established = findCondition(conditions, "Established");
      if (established?.status !== "True") {
        const message = `it is not served: ${established?.message ?? "it was made a moment ago"}`;
        return [{ check, status: "problem", message, next: `kubectl describe crd ${name}` }];
      }
      const known = new Set(fieldsOf(schemaOf(live)));
      const missing = fieldsOf(schemaOf(wanted.get(name))).filter((field) => !known.has(field));
      if (missing.length === 0) return [{ check, status: "ok", message: `served, with all ${known.size} fields` }];
      const message = `it is of another version, without ${formatList(missing, { max: NAMED_MAX })}`;
      return [{ check, status: "problem", message, next: APPLY }];
    });
  });
}

function schemaOf(crd: KubeObject | undefined): Schema {
  const { versions = [] } = (crd?.["spec"] ?? {}) as { versions?: { name: string; schema?: { openAPIV3Schema?: Schema } }[] };
  return versions.find(({ name }) => name === "v1")?.schema?.openAPIV3Schema ?? {};
}

/** Paths of fields, parents before what they hold. */
function fieldsOf({ properties = {}, items }: Schema, path = ""): string[] {
  const own = Object.entries(properties).flatMap(([name, schema]) => {
    const field = path === "" ? name : `${path}.${name}`;
    return [field, ...fieldsOf(schema, field)];
  });
  return items ? [...own, ...fieldsOf(items, `${path}[]`)] : own;
}

/** What its absence means; `isNeeded` where it is a part of every installation. */
const ABSENT: Readonly<Record<(typeof POLICIES)[number]["name"], Pick<DoctorFinding, "status" | "message" | "next">>> = {
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

function absent(check: string, name: (typeof POLICIES)[number]["name"], namespace: string): DoctorFinding {
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
export function checkPolicies({ policies, namespace }: ClusterSnapshot): DoctorFinding[] {
  return POLICIES.flatMap((ref): DoctorFinding[] => {
    const check = policyKey(ref);
    return about(check, policies.get(check) ?? { value: undefined }, (live): DoctorFinding[] =>
      live ? [{ check, status: "ok", message: "in force" }] : [absent(check, ref.name, namespace)],
    );
  });
}

/** Whether somebody collects metrics. */
export function checkMetrics({ monitors, namespace }: ClusterSnapshot): DoctorFinding[] {
  const check = "metrics";
  return about(check, monitors, (found: readonly KubeObject[] | undefined): DoctorFinding[] => {
    if (!found) return [{ check, status: "ok", message: "the cluster has no Prometheus operator; the programs serve them all the same" }];
    const names = found.map(({ metadata }) => metadata.name).filter((name) => name === "catalogd" || name === "operator-controller");
    if (names.length === 2) return [{ check, status: "ok", message: "collected by ServiceMonitors, if Prometheus may get them" }];
    const message = `no ServiceMonitor in namespace ${namespace}: nobody is told when catalogs or extensions fail`;
    return [{ check, status: "warning", message, next: "kubectl apply -k config/prometheus" }];
  });
}

/** Whether there are catalogs, each is served, and what came of the last look for new content. */
export function checkCatalogs({ catalogs, now }: ClusterSnapshot): DoctorFinding[] {
  return about("catalogs", catalogs, (all): DoctorFinding[] => {
    if (all.length > 0) return all.map((catalog) => catalogFinding(catalog, now));
    const next = "kubectl apply -f config/samples/clustercatalog.yaml";
    return [{ check: "catalogs", status: "warning", message: "there is none, so that nothing can be installed", next }];
  });
}

function catalogFinding({ metadata, spec, status }: ClusterCatalog, now: number): DoctorFinding {
  const check = `ClusterCatalog ${metadata.name}`;
  const next = `kubectl describe clustercatalog ${metadata.name}`;
  if (spec.availabilityMode === "Unavailable") return { check, status: "ok", message: "not served, as its spec says" };
  const serving = findCondition(status?.conditions, "Serving");
  const progressing = findCondition(status?.conditions, "Progressing");
  if (serving?.status !== "True") {
    const why = progressing?.message ?? serving?.message ?? "catalogd has not looked at it yet";
    return { check, status: "problem", message: `it is not served: ${why}`, next };
  }
  const content = `content of ${ageText(status?.lastUnpacked, now)} ago`;
  if (progressing && progressing.reason !== "Succeeded")
    return { check, status: "warning", message: `served, with ${content}, but not updated: ${progressing.message}`, next };
  const valid = findCondition(status?.conditions, "Valid");
  if (valid?.status === "False")
    return { check, status: "warning", message: `served, with ${content} and errors in it: ${valid.message}`, next };
  const minutes = spec.source.image?.pollIntervalMinutes;
  return { check, status: "ok", message: `served, with ${content}${minutes === undefined ? "" : `, looked up every ${minutes} min`}` };
}
