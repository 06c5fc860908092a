import { type GroupVersionKind, getGroup, getVersion } from "../api/k8s.ts";
import type { Client } from "./client.ts";
import { isForbidden, isNotFound } from "./errors.ts";

/** The used parts of an OpenAPI schema. */
export interface FieldSchema {
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly items?: FieldSchema;
  readonly required?: readonly string[];
}

/** A schema in the answer of the API server. */
interface PublishedSchema extends FieldSchema {
  readonly "x-kubernetes-group-version-kind"?: readonly { readonly group: string; readonly version: string; readonly kind: string }[];
}

/** The fields of a kind. Paths are such as `spec.source` and `status.conditions[].type`. */
export interface ServedFields {
  readonly all: ReadonlySet<string>;
  /** Those that the API server requires if their parent is set. */
  readonly required: ReadonlySet<string>;
}

/**
 * Reads the fields that the API server stores for a kind of a group, so that a client can use those that only some versions of its CRD have. Every
 * authenticated user may read them.
 * @returns undefined if the API server does not publish the kind, or denies the read
 * @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3
 */
export async function readServedFields(
  client: Pick<Client, "raw">,
  { apiVersion, kind }: GroupVersionKind,
  signal?: AbortSignal,
): Promise<ServedFields | undefined> {
  try {
    const answer = (await client.raw("GET", `/openapi/v3/apis/${apiVersion}`, undefined, signal ? { signal } : {})) as {
      components?: { schemas?: Readonly<Record<string, PublishedSchema>> };
    };
    const [group, version] = [getGroup(apiVersion), getVersion(apiVersion)];
    const schema = Object.values(answer.components?.schemas ?? {}).find((one) =>
      one["x-kubernetes-group-version-kind"]?.some((gvk) => gvk.group === group && gvk.version === version && gvk.kind === kind),
    );
    return schema && collectFields(schema);
  } catch (err) {
    if (isNotFound(err) || isForbidden(err)) return undefined;
    throw err;
  }
}

function collectFields(schema: FieldSchema): ServedFields {
  const fields = [...walkFields(schema)];
  return {
    all: new Set(fields.map(({ path }) => path)),
    required: new Set(fields.flatMap(({ path, isRequired }) => (isRequired ? [path] : []))),
  };
}

/** Returns the paths of all fields of a schema, parents before children. */
export function listSchemaFields(schema: FieldSchema): string[] {
  return Array.from(walkFields(schema), ({ path }) => path);
}

function* walkFields(
  { properties = {}, items, required = [] }: FieldSchema,
  parent = "",
): Generator<{ readonly path: string; readonly isRequired: boolean }> {
  for (const [name, schema] of Object.entries(properties)) {
    const path = parent === "" ? name : `${parent}.${name}`;
    yield { path, isRequired: required.includes(name) };
    yield* walkFields(schema, path);
  }
  if (items) yield* walkFields(items, `${parent}[]`);
}
