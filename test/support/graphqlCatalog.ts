import type { JsonObject } from "../../pkg/api/k8s.ts";
import type { LineRange, ObjectSource } from "../../pkg/catalogd/graphql/queryContext.ts";
import type { QueriedCatalog } from "../../pkg/catalogd/graphql/runQuery.ts";
import { buildSchema } from "../../pkg/catalogd/graphql/schema.ts";
import { planSchemas } from "../../pkg/fbc/graphql/catalogSchema.ts";
import { SchemaDiscovery } from "../../pkg/fbc/graphql/schemaDiscovery.ts";

/** A catalog in memory; its schema is created from the `discovered` objects. */
export function graphqlCatalog(blobs: readonly JsonObject[], discovered: readonly JsonObject[] = blobs): QueriedCatalog {
  const discovery = new SchemaDiscovery();
  for (const blob of discovered) discovery.add(toText(blob["schema"]), blob);
  return { schema: buildSchema(planSchemas(discovery.schemas()), discovery.leftOut), objects: toObjectSource(blobs) };
}

function toObjectSource(blobs: readonly JsonObject[]): ObjectSource {
  return {
    find: ({ schema, name, package: packageName, limit, offset }) => {
      const found = blobs.flatMap((blob, i): LineRange[] => {
        const hasNames = (name === "" || blob["name"] === name) && (packageName === "" || blob["package"] === packageName);
        return hasNames && blob["schema"] === schema ? [{ start: i, end: i + 1 }] : [];
      });
      return Promise.resolve(found.slice(offset, offset + limit));
    },
    read: ({ start }) => Buffer.from(JSON.stringify(blobs[start])),
  };
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
