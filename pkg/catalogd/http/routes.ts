import { catalogListRoute } from "./catalogListRoute.ts";
import { contentRoutes } from "./contentRoutes.ts";
import { findingsRoutes } from "./findingsRoutes.ts";
import { type GraphqlRouteDependencies, graphqlRoutes } from "./graphqlRoutes.ts";
import { type GraphRouteDependencies, graphRoutes } from "./graphRoutes.ts";
import { openApiRoute } from "./openApiRoute.ts";
import { packagesRoutes } from "./packagesRoutes.ts";
import { pageRoutes } from "./pageRoutes.ts";
import type { Route } from "./route.ts";
import { searchRoute } from "./searchRoute.ts";

/** What the endpoints are built from. */
export type RouteDependencies = GraphRouteDependencies & GraphqlRouteDependencies;

/** All endpoints of the content server: it serves them, and the OpenAPI document and the reference are made of them. */
export function catalogRoutes(dependencies: RouteDependencies): Route[] {
  const routes: Route[] = [
    ...contentRoutes(dependencies),
    ...graphqlRoutes(dependencies),
    ...findingsRoutes(dependencies),
    catalogListRoute(dependencies),
    ...packagesRoutes(dependencies),
    ...graphRoutes(dependencies),
    searchRoute(dependencies),
    ...pageRoutes(dependencies.cache),
  ];
  return [...routes, openApiRoute(routes, dependencies.cache)];
}
