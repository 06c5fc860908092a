import * as z from "zod";
import type { JsonObject } from "../api/k8s.ts";
import { type CatalogContent, readCatalogTable } from "./catalogTable.ts";

const AnyObject = z.record(z.string(), z.unknown());

/** A catalog in a scenario: its table, or an object with its table, properties of bundles by name, and further metas. */
export const CatalogText = z.union([
  z.string(),
  z.strictObject({
    table: z.string(),
    properties: z.record(z.string(), z.array(AnyObject)).optional(),
    metas: z.array(AnyObject).optional(),
  }),
]);
export type CatalogText = z.output<typeof CatalogText>;

/** @throws Error if the table is invalid */
export function toCatalogContent(catalog: CatalogText): CatalogContent {
  if (typeof catalog === "string") return { table: readCatalogTable(catalog) };
  const { table, properties = {}, metas = [] } = catalog;
  return { table: readCatalogTable(table), properties: properties as Record<string, JsonObject[]>, metas: metas as JsonObject[] };
}
