import type { JsonObject } from "../api/k8s.ts";
import { DNS1123_LABEL } from "../api/names.ts";
import type { BundleSummary } from "../bundle/bundleSummary.ts";
import { goQuote } from "../golang/quote.ts";
import type { Format, JsonSchema } from "./jsonSchema.ts";
import kubernetes from "./kubeSchemas.json" with { type: "json" };
import { TRUSTED_CA_SCHEMA } from "./trustedCa.ts";

/** Format of a watch namespace that must be the install namespace. */
const OWN_NAMESPACE_FORMAT = "ownNamespaceInstallMode";
/** Format of a watch namespace that must not be the install namespace. */
const SINGLE_NAMESPACE_FORMAT = "singleNamespaceInstallMode";

const CORE = "#/components/schemas/io.k8s.api.core.v1";
const TEXTS: JsonSchema = { type: "object", additionalProperties: { type: "string" } };
const NAMESPACE: JsonSchema = { type: "string", minLength: 1, maxLength: 63, pattern: DNS1123_LABEL };
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

/** Returns the schema of `deploymentConfig` with all its fields. */
export function buildDeploymentConfigSchema(): JsonSchema {
  return EXTENDED_DEPLOYMENT_CONFIG;
}

/** Configurations for selected Deployments: each has a selector. */
const DEPLOYMENT_CONFIGS: JsonSchema = {
  type: "array",
  minItems: 1,
  maxItems: 32,
  items: { ...EXTENDED_DEPLOYMENT_CONFIG, required: ["selector"] },
};

/** Options that determine which fields a configuration can have. */
export interface ConfigSchemaOptions {
  deploymentConfig: boolean;
  /** Whether to accept fields that the Go implementation does not support. Default: false. */
  extended?: boolean;
}

/**
 * Returns the JSON Schema (draft-07) to validate `spec.config.inline` of a bundle:
 *
 * | supports                                  | watchNamespace              |
 * | neither SingleNamespace nor OwnNamespace  | unknown                     |
 * | one or both of them, not AllNamespaces    | required text               |
 * | one or both of them and AllNamespaces     | optional, null allowed      |
 *
 * With only one of the two, a format requires or forbids the install namespace. If `extended` is set, MultiNamespace adds `watchNamespaces`, which is
 * required if the bundle supports no other mode.
 * @param modes the install modes that the bundle supports
 * @see operator-controller df2c201d internal/operator-controller/rukpak/bundle/registryv1.go
 */
export function buildConfigSchema(modes: ReadonlySet<string>, options: ConfigSchemaOptions): JsonSchema {
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

/** Returns the validated formats by name. Without an install namespace, the two namespace formats accept all values. */
export function createConfigFormats(installNamespace: string): ReadonlyMap<string, Format> {
  const given =
    (check: Format): Format =>
    (value) =>
      installNamespace === "" ? undefined : check(value);
  return new Map([
    [OWN_NAMESPACE_FORMAT, given((value) => (value === installNamespace ? undefined : notOwn(value, installNamespace)))],
    [SINGLE_NAMESPACE_FORMAT, given((value) => (value === installNamespace ? notSingle(value) : undefined))],
    ["date-time", dateTimeFault],
  ]);
}

function notOwn(value: string, namespace: string): string {
  const reason = "(the namespace where the operator is installed) because this operator only supports OwnNamespace install mode";
  return `invalid value ${goQuote(value)}: must be ${goQuote(namespace)} ${reason}`;
}

function notSingle(value: string): string {
  const reason = "(the install namespace) because this operator uses SingleNamespace install mode to watch a different namespace";
  return `invalid value ${goQuote(value)}: must be different from ${goQuote(value)} ${reason}`;
}

function dateTimeFault(value: string): string | undefined {
  if (Buffer.byteLength(value) < 20) return "less than 20 characters long";
  if (!/^[Tt]/.test(value.slice(10))) return "11th character must be t or T";
  return Number.isNaN(Date.parse(value)) ? "invalid date or time element" : undefined;
}

const REFERENCE = "#/components/schemas/";
const ALL = { enum: ["", "*"] };

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  deploymentConfig: "Changes to all Deployments in the bundle, or to those that the selector matches.",
  deploymentConfigs: "Changes to the Deployments that each selector matches, applied in order after deploymentConfig.",
  watchNamespace: 'The namespace that the operator watches; "*" for all namespaces, if the bundle supports it.',
  watchNamespaces: "The namespaces that the operator watches, in any order.",
};

/**
 * Returns the JSON Schema (draft-07) of `spec.config.inline` of a bundle for users, editors and other validators. It is self-contained, has
 * descriptions and uses only standard formats. Rendering rejects all configurations that it rejects, and also checks selectors, quantities and
 * lists of namespaces.
 * @param installNamespace `spec.namespace` of the extension, if known. The schema then requires or forbids this namespace as the watched namespace.
 */
export function buildUserConfigSchema(
  { name: bundleName, installModes }: Pick<BundleSummary, "name" | "installModes">,
  installNamespace?: string,
): JsonObject {
  const modes = new Set(installModes);
  const schema = buildConfigSchema(modes, { deploymentConfig: true, extended: true });
  const { watchNamespace, watchNamespaces, ...others } = schema.properties ?? {};
  const all = modes.has("AllNamespaces");
  const properties: Record<string, JsonObject> = {};
  for (const [name, property] of Object.entries(others)) properties[name] = describe(name, property);
  if (watchNamespace || all) {
    const one = watchNamespace && withoutFormat(watchNamespace, installNamespace);
    properties["watchNamespace"] = describe("watchNamespace", all ? { anyOf: [...(one ? [one] : []), ALL] } : (one ?? {}));
  }
  if (watchNamespaces || all) {
    const several = watchNamespaces ? [watchNamespaces] : [];
    const allAlone = { type: "array", minItems: 1, maxItems: 1, items: ALL };
    properties["watchNamespaces"] = describe("watchNamespaces", all ? { anyOf: [...several, allAlone] } : (watchNamespaces ?? {}));
  }
  const either = watchNamespace && watchNamespaces && !all ? ["watchNamespace", "watchNamespaces"] : undefined;
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: `Configuration of bundle ${bundleName}`,
    description: `Value of spec.config.inline in a ClusterExtension. The bundle supports install modes [${[...modes].sort().join(" ")}].`,
    type: "object",
    additionalProperties: false,
    properties,
    ...(either ? { anyOf: either.map((name) => ({ required: [name] })) } : schema.required ? { required: schema.required } : {}),
    ...(properties["watchNamespaces"] ? { dependencies: { watchNamespaces: { properties: { watchNamespace: { type: "null" } } } } } : {}),
    components: { schemas: kubernetesSchemas() },
  };
}

function describe(name: string, schema: object): JsonObject {
  return { description: DESCRIPTIONS[name] ?? "", ...schema };
}

/** Removes custom formats, because validators can reject a schema with unknown formats. */
function withoutFormat(schema: JsonSchema, installNamespace: string | undefined): JsonObject {
  const { format, anyOf, ...rest } = schema;
  if (anyOf) return { anyOf: anyOf.map((branch) => withoutFormat(branch, installNamespace)) };
  if (format === undefined || installNamespace === undefined) return rest;
  return { ...rest, ...(format === OWN_NAMESPACE_FORMAT ? { enum: [installNamespace] } : { not: { enum: [installNamespace] } }) };
}

/** Returns the Kubernetes schemas by the names in references. */
function kubernetesSchemas(): JsonObject {
  const schemas = Object.entries(kubernetes.schemas as Record<string, JsonObject>);
  return Object.fromEntries(schemas.map(([name, schema]) => [name.slice(REFERENCE.length), schema]));
}
