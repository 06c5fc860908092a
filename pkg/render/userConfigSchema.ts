import type { JsonObject } from "../api/k8s.ts";
import { installModes } from "../bundle/validate.ts";
import type { Csv } from "../bundle/types.ts";
import { configSchema, OWN_NAMESPACE_FORMAT } from "./configSchema.ts";
import type { JsonSchema } from "./jsonSchema.ts";
import kubernetes from "./kubeSchemas.json" with { type: "json" };

const REFERENCE = "#/components/schemas/";
const ALL = { enum: ["", "*"] };

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  deploymentConfig: "What is changed about the bundle's Deployments: all of them, or those that its selector chooses.",
  deploymentConfigs:
    "The same for single Deployments, applied one after another behind deploymentConfig; each says by its selector which ones.",
  watchNamespace: 'The namespace that the operator watches; "*" is all of them, where the bundle supports that.',
  watchNamespaces: "The namespaces that the operator watches, in any order.",
};

/**
 * The JSON Schema (draft-07) of `spec.config.inline` for one bundle, for people, editors and other validators: whole in itself, with
 * descriptions, and without formats that only we know. What it refuses is refused; of what it lets through, selectors, quantities and lists
 * of namespaces are looked at more closely when the bundle is rendered.
 * @param installNamespace `spec.namespace` of the extension, where it is known: then it says which namespace may, or may not, be watched.
 */
export function userConfigSchema(csv: Csv, installNamespace?: string): JsonObject {
  const modes = installModes(csv);
  const schema = configSchema(csv, { deploymentConfig: true, extended: true });
  const { watchNamespace, watchNamespaces, ...others } = schema.properties ?? {};
  const all = modes.has("AllNamespaces");
  const properties: Record<string, JsonObject> = {};
  for (const [name, property] of Object.entries(others)) properties[name] = described(name, property);
  if (watchNamespace || all) {
    const one = watchNamespace && withoutFormat(watchNamespace, installNamespace);
    properties["watchNamespace"] = described("watchNamespace", all ? { anyOf: [...(one ? [one] : []), ALL] } : (one ?? {}));
  }
  if (watchNamespaces || all) {
    const several = watchNamespaces ? [watchNamespaces] : [];
    const allAlone = { type: "array", minItems: 1, maxItems: 1, items: ALL };
    properties["watchNamespaces"] = described("watchNamespaces", all ? { anyOf: [...several, allAlone] } : (watchNamespaces ?? {}));
  }
  const either = watchNamespace && watchNamespaces && !all ? ["watchNamespace", "watchNamespaces"] : undefined;
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: `Configuration of bundle ${csv.metadata.name ?? ""}`,
    description: `spec.config.inline of a ClusterExtension; the bundle supports install modes [${[...modes].sort().join(" ")}].`,
    type: "object",
    additionalProperties: false,
    properties,
    ...(either ? { anyOf: either.map((name) => ({ required: [name] })) } : schema.required ? { required: schema.required } : {}),
    ...(properties["watchNamespaces"] ? { dependencies: { watchNamespaces: { properties: { watchNamespace: { type: "null" } } } } } : {}),
    components: { schemas: kubernetesSchemas() },
  };
}

function described(name: string, schema: object): JsonObject {
  return { description: DESCRIPTIONS[name] ?? "", ...schema };
}

/** A validator that does not know a format may refuse the whole schema. */
function withoutFormat(schema: JsonSchema, installNamespace: string | undefined): JsonObject {
  const { format, anyOf, ...rest } = schema;
  if (anyOf) return { anyOf: anyOf.map((branch) => withoutFormat(branch, installNamespace)) };
  if (format === undefined || installNamespace === undefined) return rest;
  return { ...rest, ...(format === OWN_NAMESPACE_FORMAT ? { enum: [installNamespace] } : { not: { enum: [installNamespace] } }) };
}

/** Where references find them. */
function kubernetesSchemas(): JsonObject {
  const schemas = Object.entries(kubernetes.schemas as Record<string, JsonObject>);
  return Object.fromEntries(schemas.map(([name, schema]) => [name.slice(REFERENCE.length), schema]));
}
