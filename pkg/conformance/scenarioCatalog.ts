import * as z from "zod";
import { readCatalogTable, type TableCatalog } from "./catalogTable.ts";

const AnyObject = z.record(z.string(), z.unknown());

/** A catalog in a scenario: its table, or an object with its table, properties of bundles by name, and further metas. */
export const ScenarioCatalog = z.union([
  z.string(),
  z.strictObject({
    table: z.string(),
    properties: z.record(z.string(), z.array(AnyObject)).optional(),
    metas: z.array(AnyObject).optional(),
  }),
]);
export type ScenarioCatalog = z.output<typeof ScenarioCatalog>;

/** @throws Error if the table is invalid */
export function toTableCatalog(catalog: ScenarioCatalog): TableCatalog {
  if (typeof catalog === "string") return { table: readCatalogTable(catalog) };
  const { table, properties = {}, metas = [] } = catalog;
  return { table: readCatalogTable(table), properties, metas };
}
