import type { KubeObject } from "./k8s.ts";

const OLM_GROUP = "operators.coreos.com";

/** The kind in which operators report to their lifecycle manager. */
export const OPERATOR_CONDITION = { apiVersion: `${OLM_GROUP}/v2`, kind: "OperatorCondition" } as const;
/** The resource of OperatorConditions. */
export const OPERATOR_CONDITIONS = { group: OLM_GROUP, resource: "operatorconditions" } as const;
/** The environment variable that contains the name of the OperatorCondition of an operator. */
export const OPERATOR_CONDITION_VARIABLE = "OPERATOR_CONDITION_NAME";
/** The type of the condition that prevents the upgrade of an operator. */
export const UPGRADEABLE = "Upgradeable";

/** Whether the cluster serves OperatorConditions, and the identity that installs a bundle may create them. */
export type ConditionSupport = "Served" | "NotServed" | "NotPermitted" | "Unknown";

/** A condition in an OperatorCondition. Any client with access can write it. */
export interface ReportedCondition {
  type?: unknown;
  status?: unknown;
  reason?: unknown;
  message?: unknown;
  observedGeneration?: unknown;
}

/** An OperatorCondition as the API server returns it. */
export interface OperatorConditionObject extends KubeObject {
  spec?: {
    serviceAccounts?: string[];
    deployments?: string[];
    /** Written by the operator. Only in v2. */
    conditions?: ReportedCondition[];
    /** Written by the administrator. They have precedence over the conditions of the operator. */
    overrides?: ReportedCondition[];
  };
  /** In v1 written by the operator; in v2 the copy of `spec.conditions` by OLM v0. */
  status?: { conditions?: ReportedCondition[] };
}

const TEXTS = { type: "array", items: { type: "string" } };

/** Returns the schema of a list of conditions. Overrides need no time. */
function conditionList(description: string, required: readonly string[]): object {
  const properties = {
    lastTransitionTime: { description: "lastTransitionTime is when the status changed last.", type: "string", format: "date-time" },
    message: { description: "message explains the status.", type: "string", maxLength: 32_768 },
    observedGeneration: {
      description: "observedGeneration is the metadata.generation that the condition is based on.",
      type: "integer",
      format: "int64",
      minimum: 0,
    },
    reason: {
      description: "reason is the cause of the status in CamelCase.",
      type: "string",
      maxLength: 1_024,
      minLength: 1,
      pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    },
    status: { description: "status is True, False or Unknown.", type: "string", enum: ["True", "False", "Unknown"] },
    type: {
      description: "type is the type of the condition, such as Upgradeable.",
      type: "string",
      maxLength: 316,
      pattern: "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    },
  };
  return { description, type: "array", items: { type: "object", required, properties } };
}

const OVERRIDE_MEMBERS = ["message", "reason", "status", "type"];
const CONDITION_MEMBERS = ["lastTransitionTime", ...OVERRIDE_MEMBERS];

function buildSchema(version: "v1" | "v2"): object {
  const reported = conditionList("conditions are written by the operator.", CONDITION_MEMBERS);
  const spec = {
    ...(version === "v2" ? { conditions: reported } : {}),
    deployments: { description: "deployments are the names of the Deployments of the operator.", ...TEXTS },
    overrides: conditionList("overrides are written by an administrator and override the conditions of the operator.", OVERRIDE_MEMBERS),
    serviceAccounts: { description: "serviceAccounts are the names of the ServiceAccounts that may write the object.", ...TEXTS },
  };
  return {
    description: "OperatorCondition lets an operator and its lifecycle manager inform each other.",
    type: "object",
    required: ["metadata"],
    properties: {
      apiVersion: { description: "apiVersion is the group and version of this representation of the object.", type: "string" },
      kind: { description: "kind is the kind of the object.", type: "string" },
      metadata: { type: "object" },
      spec: { type: "object", properties: spec },
      status: { type: "object", properties: { conditions: conditionList("conditions are the last known conditions.", CONDITION_MEMBERS) } },
    },
  };
}

/**
 * Returns the CustomResourceDefinition of OperatorConditions, with the schema of OLM v0.
 * @see operator-framework/api v0.45.0 crds/operators.coreos.com_operatorconditions.yaml
 */
export function buildOperatorConditionCrd(): KubeObject {
  const version = (name: "v1" | "v2", storage: boolean): object => ({
    name,
    served: true,
    storage,
    subresources: { status: {} },
    schema: { openAPIV3Schema: buildSchema(name) },
  });
  const { group, resource } = OPERATOR_CONDITIONS;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${resource}.${group}` },
    spec: {
      group,
      names: {
        categories: ["olm"],
        kind: OPERATOR_CONDITION.kind,
        listKind: `${OPERATOR_CONDITION.kind}List`,
        plural: resource,
        shortNames: ["condition"],
        singular: "operatorcondition",
      },
      scope: "Namespaced",
      versions: [version("v1", false), version("v2", true)],
    },
  };
}
