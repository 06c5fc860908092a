import { findCondition } from "../../../pkg/api/conditions.ts";
import type { Condition, KubeObject } from "../../../pkg/api/k8s.ts";
import type { DoctorFacts } from "./facts.ts";
import { about, type Finding } from "./finding.ts";

/** A part of an OpenAPI schema. */
interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
}

/** The check of its version, which everybody may see. */
export const API_SERVER = "API server";
const LEAST_MINOR = 30;
const APPLY = "kubectl apply -k config, or helm upgrade with the chart of this olmv1";
/** Names of fields that a message has. */
const NAMED_MAX = 5;

/** Whether the API server is recent enough. */
export function checkApiServer({ serverVersion }: DoctorFacts): Finding[] {
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
export function checkDefinitions({ definitions }: DoctorFacts, wanted: ReadonlyMap<string, KubeObject>): Finding[] {
  return [...definitions].flatMap(([name, answer]) => {
    const check = `CustomResourceDefinition ${name}`;
    return about(check, answer, (live): Finding[] => {
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
      const more = missing.length > NAMED_MAX ? ` and ${missing.length - NAMED_MAX} more` : "";
      const message = `it is of another version, without ${missing.slice(0, NAMED_MAX).join(", ")}${more}`;
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
