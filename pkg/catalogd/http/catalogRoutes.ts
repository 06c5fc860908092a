import { fastify } from "fastify";
import { registerAllRoute, registerCatalogListRoute, registerFindingsRoute, registerMetasRoute } from "./contentRoutes.ts";
import { type GraphqlRouteDependencies, registerGraphqlRoute } from "./graphqlRoutes.ts";
import { type GraphRouteDependencies, registerGraphRoute } from "./graphRoutes.ts";
import { registerOpenApiRoute } from "./openApi.ts";
import { registerPackageRoute } from "./packageRoute.ts";
import { registerPackagesRoutes } from "./packagesRoutes.ts";
import { type PageRouteDependencies, registerPageRoutes } from "./pageRoutes.ts";
import type { ZodTypeProvider } from "./queryParameters.ts";
import type { CatalogRoute, CatalogServer } from "./route.ts";
import { registerSearchRoute } from "./searchRoute.ts";

/** Dependencies of the endpoints. */
export interface RouteDependencies extends GraphRouteDependencies, GraphqlRouteDependencies, PageRouteDependencies {
  /** Endpoints to omit; requests for them get 404. */
  without?: ReadonlySet<GatedEndpoint>;
}

/** Operation id of an endpoint that a feature gate can disable. */
export type GatedEndpoint = "findMetas" | "queryCatalog";

/**
 * Registers all endpoints of the content server.
 * @returns the routes, from which the OpenAPI document and the reference are generated.
 */
export function registerCatalogRoutes(server: CatalogServer, dependencies: RouteDependencies): CatalogRoute[] {
  const { without } = dependencies;
  const routes: CatalogRoute[] = [];
  server.addHook("onRoute", ({ method, url, schema, config }) => {
    const { failures = "text", operation } = config ?? {};
    if (operation) routes.push({ method, url, schema, config: { failures, operation } });
  });
  registerAllRoute(server, dependencies);
  if (!without?.has("findMetas")) registerMetasRoute(server, dependencies);
  if (!without?.has("queryCatalog")) registerGraphqlRoute(server, dependencies);
  registerFindingsRoute(server, dependencies);
  registerCatalogListRoute(server, dependencies);
  registerPackagesRoutes(server, dependencies);
  registerPackageRoute(server, dependencies);
  registerGraphRoute(server, dependencies);
  registerSearchRoute(server, dependencies);
  registerPageRoutes(server, dependencies);
  registerOpenApiRoute(server, routes, dependencies);
  return routes;
}

/** Returns the endpoints without starting a server. */
export function createCatalogRoutes(dependencies: RouteDependencies): CatalogRoute[] {
  return registerCatalogRoutes(fastify().withTypeProvider<ZodTypeProvider>(), dependencies);
}
