import { installModes } from "../bundle/validate.ts";
import type { Csv } from "../bundle/types.ts";
import type { JsonSchema } from "./jsonSchema.ts";
import { TRUSTED_CA_SCHEMA } from "./trustedCa.ts";

/** Format of a watch namespace that must be the install namespace. */
export const OWN_NAMESPACE_FORMAT = "ownNamespaceInstallMode";
/** Format of a watch namespace that must not be the install namespace. */
export const SINGLE_NAMESPACE_FORMAT = "singleNamespaceInstallMode";

const CORE = "#/components/schemas/io.k8s.api.core.v1";
const TEXTS: JsonSchema = { type: "object", additionalProperties: { type: "string" } };
const NAMESPACE: JsonSchema = { type: "string", minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" };
const NAMESPACES: JsonSchema = { type: "array", minItems: 1, maxItems: 100, uniqueItems: true, items: NAMESPACE };

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

const SELECTOR: JsonSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    matchExpressions: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["key", "operator"],
        properties: {
          key: { type: "string" },
          operator: { type: "string", enum: ["In", "NotIn", "Exists", "DoesNotExist"] },
          values: { type: "array", items: { type: "string" } },
        },
      },
    },
    matchLabels: TEXTS,
  },
};

const EXTENDED_DEPLOYMENT_CONFIG: JsonSchema = {
  ...DEPLOYMENT_CONFIG,
  properties: {
    ...DEPLOYMENT_CONFIG.properties,
    includeInitContainers: { type: "boolean" },
    selector: SELECTOR,
    trustedCA: TRUSTED_CA_SCHEMA,
  },
};

/** The schema of `deploymentConfig`, with all that it may hold. */
export function deploymentConfigSchema(): JsonSchema {
  return EXTENDED_DEPLOYMENT_CONFIG;
}

/** For single Deployments: each says which ones it is for. */
const DEPLOYMENT_CONFIGS: JsonSchema = {
  type: "array",
  minItems: 1,
  maxItems: 32,
  items: { ...EXTENDED_DEPLOYMENT_CONFIG, required: ["selector"] },
};

/** Which members a configuration may have at all. */
export interface ConfigSchemaOptions {
  deploymentConfig: boolean;
  /** Whether those count that the Go implementation does not know. Default false. */
  extended?: boolean;
}

/**
 * The JSON Schema (draft-07) of `spec.config.inline` for one bundle, as a configuration is checked against it:
 *
 * | supports                                  | watchNamespace              |
 * | neither SingleNamespace nor OwnNamespace  | unknown                     |
 * | one or both of them, not AllNamespaces    | required text               |
 * | one or both of them and AllNamespaces     | optional, null allowed      |
 *
 * With only one of the two, a format ties it to, or keeps it apart from, the install namespace. Extended, MultiNamespace brings
 * `watchNamespaces`, which is required where the bundle supports nothing else.
 * @see operator-controller internal/operator-controller/rukpak/bundle/registryv1.go
 */
export function configSchema(csv: Csv, options: ConfigSchemaOptions): JsonSchema {
  const modes = installModes(csv);
  const { deploymentConfig, extended = false } = options;
  const own = modes.has("OwnNamespace");
  const single = modes.has("SingleNamespace");
  const all = modes.has("AllNamespaces");
  const multi = extended && modes.has("MultiNamespace");
  const format = own === single ? {} : { format: own ? OWN_NAMESPACE_FORMAT : SINGLE_NAMESPACE_FORMAT };
  const namespace: JsonSchema = { ...NAMESPACE, ...format };
  const watchNamespace = all ? { anyOf: [{ type: "null" as const }, namespace] } : namespace;
  const properties: Record<string, JsonSchema> = {
    ...(deploymentConfig ? { deploymentConfig: extended ? EXTENDED_DEPLOYMENT_CONFIG : DEPLOYMENT_CONFIG } : {}),
    ...(deploymentConfig && extended ? { deploymentConfigs: DEPLOYMENT_CONFIGS } : {}),
    ...(own || single ? { watchNamespace } : {}),
    ...(multi ? { watchNamespaces: NAMESPACES } : {}),
  };
  const [required] = Object.keys(properties).filter((name) => !all && name.startsWith("watchNamespace"));
  return { type: "object", additionalProperties: false, properties, ...(required === undefined ? {} : { required: [required] }) };
}
