import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { findCondition } from "../api/conditions.ts";
import { ALPHA_VERSION, SYSTEM_NAMESPACE, VERSION } from "../api/constants.ts";
import type { Condition, KubeObject } from "../api/k8s.ts";
import { formatAge } from "../golang/time.ts";
import { type FieldSchema, listSchemaFields } from "../kube/servedFields.ts";
import { formatList } from "../text/lists.ts";
import { type ClusterSnapshot, type DoctorFinding, formatPolicyKey, POLICIES, reportOn } from "./clusterSnapshot.ts";
import { readManagedMode } from "./programs.ts";

/** Name of the check of the API server version. */
const API_SERVER = "API server";
const LEAST_MINOR = 30;
/** Never `kubectl apply -k config`: it sets an image that cannot be pulled. */
const APPLY = "apply your kustomization.yaml with config of this olmv1, or run helm upgrade with its chart";
/** Names of the policies that permission-manager needs. */
const OF_PERMISSIONS = "olmv1-";
/** Maximum number of fields listed in a message. */
const NAMED_MAX = 5;

/** Checks whether the API server is recent enough for olmv1. */
export function checkApiServer({ serverVersion }: ClusterSnapshot): DoctorFinding[] {
  const [, major = "0", minor = "0"] = /^v?(\d+)\.(\d+)/.exec(serverVersion) ?? [];
  const isRecent = Number(major) > 1 || Number(minor) >= LEAST_MINOR;
  const check = API_SERVER;
  if (isRecent) return [{ check, status: "ok", message: `Kubernetes ${serverVersion}` }];
  const message = `Kubernetes ${serverVersion} is older than 1.${LEAST_MINOR} and does not support ValidatingAdmissionPolicy`;
  return [{ check, status: "problem", message, next: "upgrade the cluster" }];
}

/**
 * Checks whether the CustomResourceDefinitions exist, are served, and contain every field that this olmv1 knows.
 * @param desired CustomResourceDefinitions of this olmv1, by name
 */
export function checkDefinitions({ definitions }: ClusterSnapshot, desired: ReadonlyMap<string, KubeObject>): DoctorFinding[] {
  return [...definitions].flatMap(([name, answer]) => {
    const check = `CustomResourceDefinition ${name}`;
    return reportOn(check, answer, (live): DoctorFinding[] => {
      if (!live) return [{ check, status: "problem", message: "it does not exist: olmv1 is not installed", next: APPLY }];
      const { conditions } = (live["status"] ?? {}) as { conditions?: Condition[] };
      const established = findCondition(conditions, "Established");
      if (established?.status !== "True") {
        const message = `it is not served: ${established?.message ?? "it was just created"}`;
        return [{ check, status: "problem", message, next: `kubectl describe crd ${name}` }];
      }
      const known = new Set(listSchemaFields(getDefinitionSchema(live)));
      const missing = listSchemaFields(getDefinitionSchema(desired.get(name))).filter((field) => !known.has(field));
      if (missing.length === 0) return [{ check, status: "ok", message: `served, with all ${known.size} fields` }];
      const message = `the CRD is from another version of olmv1: missing fields ${formatList(missing, { max: NAMED_MAX })}`;
      return [{ check, status: "problem", message, next: APPLY }];
    });
  });
}

/** Returns the schema of the version that olmv1 uses; empty if there is none. */
export function getDefinitionSchema(crd: KubeObject | undefined): FieldSchema {
  const { versions = [] } = (crd?.["spec"] ?? {}) as { versions?: { name: string; schema?: { openAPIV3Schema?: FieldSchema } }[] };
  const version = versions.find(({ name }) => name === VERSION || name === ALPHA_VERSION);
  return version?.schema?.openAPIV3Schema ?? {};
}

/** The finding for each missing policy. */
const ABSENT: Readonly<Record<(typeof POLICIES)[number]["name"], Pick<DoctorFinding, "status" | "message" | "next">>> = {
  "operator-controller-dependencies": {
    status: "problem",
    message: "it does not exist: operator-controller can create and delete any extension",
    next: APPLY,
  },
  "clusterextension-service-accounts": {
    status: "warning",
    message: "it does not exist: users who may write an extension can use any ServiceAccount that operator-controller can impersonate",
    next: "kubectl apply -f config/samples/service-accounts.yaml",
  },
  "olmv1-permission-manager": {
    status: "problem",
    message: "it does not exist: permission-manager grants nothing, because nothing limits it",
    next: APPLY,
  },
  "olmv1-granted-objects": {
    status: "problem",
    message: "it does not exist: users who may write roles can add permissions to extensions",
    next: APPLY,
  },
  "olmv1-extension-identities": {
    status: "problem",
    message: "it does not exist: users who may create Pods in the namespace of an extension have its permissions",
    next: APPLY,
  },
  "olmv1-extension-permissions": {
    status: "problem",
    message: "it does not exist: approvals need no permission, and any user with write access can request permissions",
    next: APPLY,
  },
  "olmv1-permission-policies": {
    status: "problem",
    message: "it does not exist: users who may write an extension can select any PermissionPolicy",
    next: APPLY,
  },
  "olmv1-definitions": {
    status: "problem",
    message: "it does not exist: users who may write CustomResourceDefinitions can change what PermissionPolicies allow",
    next: APPLY,
  },
  "clustercatalog-name-label": {
    status: "ok",
    message: "it does not exist: catalogd adds the name labels of catalogs instead, shortly after they are created",
  },
};

function absent(check: string, name: (typeof POLICIES)[number]["name"], namespace: string): DoctorFinding {
  const { next, ...found } = ABSENT[name];
  const todo = replaceNamespace(next, namespace);
  return { check, ...found, ...(todo === undefined ? {} : { next: todo }) };
}

/** Returns a command that replaces the namespace in a sample, which contains the namespace of operator-controller's ServiceAccount. */
function replaceNamespace(next: string | undefined, namespace: string): string | undefined {
  const [, sample] = /^kubectl apply -f (config\/samples\/\S+)$/.exec(next ?? "") ?? [];
  if (sample === undefined || namespace === SYSTEM_NAMESPACE) return next;
  return `sed s/${SYSTEM_NAMESPACE}/${namespace}/ ${sample} | kubectl apply -f -`;
}

/** Checks whether the admission policies are bound. */
export function checkPolicies(snapshot: ClusterSnapshot): DoctorFinding[] {
  const { policies, namespace } = snapshot;
  const isManaged = readManagedMode(snapshot) !== "off";
  return POLICIES.filter(({ name }) => isManaged || !name.startsWith(OF_PERMISSIONS)).flatMap((ref): DoctorFinding[] => {
    const check = formatPolicyKey(ref);
    return reportOn(check, policies.get(check) ?? { value: undefined }, (live): DoctorFinding[] =>
      live ? [{ check, status: "ok", message: "in force" }] : [absent(check, ref.name, namespace)],
    );
  });
}

/** Checks whether Prometheus collects the metrics of catalogd and operator-controller. */
export function checkMetrics({ monitors, namespace }: ClusterSnapshot): DoctorFinding[] {
  const check = "metrics";
  return reportOn(check, monitors, (found: readonly KubeObject[] | undefined): DoctorFinding[] => {
    if (!found) return [{ check, status: "ok", message: "the cluster has no Prometheus operator; the servers still serve metrics" }];
    const names = found.map(({ metadata }) => metadata.name).filter((name) => name === "catalogd" || name === "operator-controller");
    if (names.length === 2) return [{ check, status: "ok", message: "collected through ServiceMonitors, if Prometheus has permission" }];
    const message = `no ServiceMonitor in namespace ${namespace}: no alerts when catalogs or extensions fail`;
    return [{ check, status: "warning", message, next: "kubectl apply -k config/prometheus" }];
  });
}

/** Checks whether catalogs exist, whether each catalog is served, and the result of its last poll. */
export function checkCatalogs({ catalogs, now }: ClusterSnapshot): DoctorFinding[] {
  return reportOn("catalogs", catalogs, (all): DoctorFinding[] => {
    if (all.length > 0) return all.map((catalog) => checkCatalog(catalog, now));
    const next = "kubectl apply -f config/samples/clustercatalog.yaml";
    return [{ check: "catalogs", status: "warning", message: "no ClusterCatalog exists, so nothing can be installed", next }];
  });
}

function checkCatalog({ metadata, spec, status }: ClusterCatalog, now: number): DoctorFinding {
  const check = `ClusterCatalog ${metadata.name}`;
  const next = `kubectl describe clustercatalog ${metadata.name}`;
  if (spec.availabilityMode === "Unavailable") return { check, status: "ok", message: "not served, as configured in its spec" };
  const serving = findCondition(status?.conditions, "Serving");
  const progressing = findCondition(status?.conditions, "Progressing");
  if (serving?.status !== "True") {
    const why = progressing?.message ?? serving?.message ?? "catalogd has not reconciled it yet";
    return { check, status: "problem", message: `it is not served: ${why}`, next };
  }
  const content = `content from ${formatAge(status?.lastUnpacked, now)} ago`;
  if (progressing && progressing.reason !== "Succeeded")
    return { check, status: "warning", message: `served, with ${content}, but not updated: ${progressing.message}`, next };
  const valid = findCondition(status?.conditions, "Valid");
  if (valid?.status === "False")
    return { check, status: "warning", message: `served, with ${content}, but the content has errors: ${valid.message}`, next };
  const minutes = spec.source.image?.pollIntervalMinutes;
  return { check, status: "ok", message: `served, with ${content}${minutes === undefined ? "" : `, polled every ${minutes} min`}` };
}
