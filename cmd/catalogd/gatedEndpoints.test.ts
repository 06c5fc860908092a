import { expect, test } from "vitest";
import { QueryThreads } from "../../pkg/catalogd/graphql/queryThreads.ts";
import { AnswerCache } from "../../pkg/catalogd/http/answerCache.ts";
import { catalogRoutes } from "../../pkg/catalogd/http/contentServer.ts";
import { gatedEndpoints, parseFlags } from "./flags.ts";

/** Paths that are not served with these flags. */
function missingPaths(...args: string[]): string[] {
  const flags = parseFlags(args);
  if (flags === "help") throw new Error("no flags");
  const without = gatedEndpoints(flags);
  const routes = catalogRoutes({
    source: { get: () => undefined, catalogs: () => [] },
    cache: new AnswerCache(),
    graphs: new QueryThreads(),
  });
  return routes.filter(({ operation }) => without.has(operation.id)).map(({ path }) => path);
}

test("endpoints are served unless their gates are off", () => {
  expect(missingPaths()).toEqual([]);
  expect(missingPaths("--feature-gates=GraphQLCatalogQueries=false")).toEqual(["/catalogs/{catalog}/api/v1/graphql"]);
  expect(missingPaths("--feature-gates=APIV1MetasHandler=false")).toEqual(["/catalogs/{catalog}/api/v1/metas"]);
});
