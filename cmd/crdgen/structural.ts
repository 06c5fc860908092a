import * as z from "zod";
import type { JsonObject } from "../../pkg/api/k8s.ts";

/**
 * The members of a structural schema that we make use of.
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export interface Structural extends JsonObject {
  type?: string;
  description?: string;
  format?: string;
  default?: unknown;
  enum?: unknown[];
  required?: string[];
  properties?: Record<string, Structural>;
  items?: Structural;
  additionalProperties?: Structural | boolean;
  "x-kubernetes-validations"?: { rule: string; message: string }[];
  "x-kubernetes-preserve-unknown-fields"?: boolean;
}

const DIALECT = "$schema";

/** A zod schema as the structural schema of a CustomResourceDefinition; members keep the order in which they are declared. */
export function toStructural(schema: z.ZodType): Structural {
  const { [DIALECT]: _, ...structural } = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    reused: "inline",
    // Runs twice on a schema with meta, before and after that is merged in.
    override: ({ jsonSchema }) => adapt(jsonSchema as Structural),
  });
  return ordered(structural as Structural);
}

/** Takes out what Kubernetes knows in another form or not at all. */
function adapt(schema: Structural): void {
  if (schema.properties) delete schema.additionalProperties;
  if (schema["x-kubernetes-preserve-unknown-fields"]) delete schema.additionalProperties;
  if (schema.format === "date-time") delete schema["pattern"];
  if (schema.type !== "integer") return;
  if (schema["minimum"] === Number.MIN_SAFE_INTEGER) delete schema["minimum"];
  if (schema["maximum"] === Number.MAX_SAFE_INTEGER) delete schema["maximum"];
}

/** What a reader looks for first comes first: description, type, then bounds, members, rules. */
function ordered(schema: Structural): Structural {
  const { description, type, properties, items, additionalProperties, required, "x-kubernetes-validations": rules, ...others } = schema;
  const result: Structural = {};
  if (description !== undefined) result.description = description;
  if (type !== undefined) result.type = type;
  Object.assign(result, others);
  if (required) result.required = required;
  if (properties) result.properties = Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, ordered(member)]));
  if (items) result.items = ordered(items);
  if (additionalProperties !== undefined) {
    result.additionalProperties = typeof additionalProperties === "boolean" ? additionalProperties : ordered(additionalProperties);
  }
  if (rules) result["x-kubernetes-validations"] = rules;
  return result;
}
