import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";

/** A version of a CustomResourceDefinition. The first version is stored. */
interface CrdVersionFixture {
  readonly name: string;
  /** Default true. */
  readonly served?: boolean;
  /** Properties of `spec`, as JSON schemas. */
  readonly spec: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[];
}

/** A CustomResourceDefinition of namespaced custom resources. */
export interface CrdFixture {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly displayName?: string;
  readonly description: string;
  readonly versions: readonly CrdVersionFixture[];
  readonly example?: KubeObject;
}

/** Returns a CustomResourceDefinition with a status subresource. */
export function defineCrd({ group, kind, plural, description, versions }: CrdFixture): KubeObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: versions.map(({ name, served = true, spec, required }, at) => ({
        name,
        served,
        storage: at === 0,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            description,
            type: "object",
            properties: {
              spec: { type: "object", properties: spec, ...(required ? { required } : {}) },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      })),
    },
  };
}

/** Returns a JSON schema of a text. */
export function describeText(description: string, more: JsonObject = {}): JsonObject {
  return { type: "string", description, ...more };
}

/** Returns a JSON schema of an integer. */
export function describeInteger(description: string, more: JsonObject = {}): JsonObject {
  return { type: "integer", description, ...more };
}
