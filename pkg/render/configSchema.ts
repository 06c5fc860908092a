import { installModes } from "../bundle/installModes.ts";
import type { Csv } from "../bundle/types.ts";
import type { JsonSchema } from "./jsonSchema.ts";

/** Format of a watch namespace that must be the install namespace. */
export const OWN_NAMESPACE_FORMAT = "ownNamespaceInstallMode";
/** Format of a watch namespace that must not be the install namespace. */
export const SINGLE_NAMESPACE_FORMAT = "singleNamespaceInstallMode";

const CORE = "#/components/schemas/io.k8s.api.core.v1";
const TEXTS: JsonSchema = { type: "object", additionalProperties: { type: "string" } };
const NAMESPACE: JsonSchema = { type: "string", minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" };

const DEPLOYMENT_CONFIG: JsonSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    affinity: { $ref: `${CORE}.Affinity` },
    annotations: TEXTS,
    env: { type: "array", items: { $ref: `${CORE}.EnvVar` } },
    envFrom: { type: "array", items: { $ref: `${CORE}.EnvFromSource` } },
    nodeSelector: TEXTS,
    resources: { $ref: `${CORE}.ResourceRequirements` },
    tolerations: { type: "array", items: { $ref: `${CORE}.Toleration` } },
    volumeMounts: { type: "array", items: { $ref: `${CORE}.VolumeMount` } },
    volumes: { type: "array", items: { $ref: `${CORE}.Volume` } },
  },
};

/**
 * The JSON Schema (draft-07) of `spec.config.inline` for one bundle:
 *
 * | supports                                  | watchNamespace              |
 * | neither SingleNamespace nor OwnNamespace  | unknown                     |
 * | one or both of them, not AllNamespaces    | required text               |
 * | one or both of them and AllNamespaces     | optional, null allowed      |
 *
 * With only one of the two, a format ties it to, or keeps it apart from, the install namespace.
 * @see operator-controller internal/operator-controller/rukpak/bundle/registryv1.go
 */
export function configSchema(csv: Csv, options: { deploymentConfig: boolean }): JsonSchema {
  const modes = installModes(csv);
  const own = modes.has("OwnNamespace");
  const single = modes.has("SingleNamespace");
  const all = modes.has("AllNamespaces");
  const format = own === single ? {} : { format: own ? OWN_NAMESPACE_FORMAT : SINGLE_NAMESPACE_FORMAT };
  const namespace: JsonSchema = { ...NAMESPACE, ...format };
  const properties: Record<string, JsonSchema> = options.deploymentConfig ? { deploymentConfig: DEPLOYMENT_CONFIG } : {};
  if (own || single) properties["watchNamespace"] = all ? { anyOf: [{ type: "null" }, namespace] } : namespace;
  const required = (own || single) && !all ? { required: ["watchNamespace"] } : {};
  return { type: "object", additionalProperties: false, properties, ...required };
}
