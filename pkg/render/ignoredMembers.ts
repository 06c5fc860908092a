import { similarName } from "../text/compare.ts";
import { deploymentConfigSchema } from "./configSchema.ts";
import type { JsonSchema } from "./jsonSchema.ts";
import kubernetes from "./kubeSchemas.json" with { type: "json" };

/** A field that is accepted and then left out. */
export interface IgnoredMember {
  /** Its full path. */
  readonly field: string;
  /** Returns the name that may have been meant. It is compared only when asked for: there may be thousands of such fields. */
  meant(): string | undefined;
}

const REFERENCES: Readonly<Record<string, JsonSchema>> = kubernetes.schemas as Record<string, JsonSchema>;

/**
 * The fields of a deployment configuration that no Go type has: its schema lets them through, and decoding drops them. Letter case does not
 * count, as it does not for Go's decoder.
 * @param config accepted by its schema. @param path of the configuration.
 */
export function ignoredMembers(config: unknown, path: string): IgnoredMember[] {
  return membersIn(deploymentConfigSchema(), config, path);
}

function membersIn(schema: JsonSchema, value: unknown, path: string): IgnoredMember[] {
  const { properties, additionalProperties, items } = resolved(schema);
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return items ? value.flatMap((item, index) => membersIn(items, item, `${path}.${index}`)) : [];
  return Object.entries(value).flatMap(([name, member]): IgnoredMember[] => {
    const field = `${path}.${name}`;
    if (typeof additionalProperties === "object") return membersIn(additionalProperties, member, field);
    if (!properties) return [];
    const known = Object.keys(properties);
    const found = known.find((other) => other.toLowerCase() === name.toLowerCase());
    if (found === undefined) return [{ field, meant: () => similarName(name, known) }];
    return membersIn(properties[found] ?? {}, member, field);
  });
}

/** Behind references, and what Kubernetes wraps around them. */
function resolved(schema: JsonSchema): JsonSchema {
  const [only] = schema.allOf ?? [];
  const next = schema.$ref === undefined ? only : REFERENCES[schema.$ref];
  return next ? resolved(next) : schema;
}
