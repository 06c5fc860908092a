import { expect, test } from "vitest";
import { QueryThreads } from "../../pkg/catalogd/graphql/queryThreads.ts";
import { createCatalogRoutes, type GatedEndpoint } from "../../pkg/catalogd/http/catalogRoutes.ts";
import { ResponseCache } from "../../pkg/catalogd/http/responseCache.ts";
import { listGatedEndpoints, parseFlags } from "./flags.ts";

function urls(without?: ReadonlySet<GatedEndpoint>): string[] {
  const source = { get: () => undefined, catalogs: () => [] };
  return createCatalogRoutes({ source, cache: new ResponseCache(), graphs: new QueryThreads(), ...(without ? { without } : {}) }).map(
    ({ url }) => url,
  );
}

/** Returns URLs of routes that these flags disable. */
function missing(...args: string[]): string[] {
  const flags = parseFlags(args);
  if (flags === "help") throw new Error("no flags");
  const registered = new Set(urls(listGatedEndpoints(flags)));
  return urls().filter((url) => !registered.has(url));
}

test("catalogd serves gated endpoints unless their feature gates are disabled", () => {
  expect(missing()).toEqual([]);
  expect(missing("--feature-gates=GraphQLCatalogQueries=false")).toEqual(["/catalogs/:catalog/api/v1/graphql"]);
  expect(missing("--feature-gates=APIV1MetasHandler=false")).toEqual(["/catalogs/:catalog/api/v1/metas"]);
});
