import type { Flags } from "./flags.ts";

/** Ids of the endpoints whose feature gates are off: for clients they do not exist. */
export function gatedEndpoints({ "feature-gates": { enabled } }: Flags): Set<string> {
  return new Set([...(enabled.APIV1MetasHandler ? [] : ["findMetas"]), ...(enabled.GraphQLCatalogQueries ? [] : ["queryCatalog"])]);
}
