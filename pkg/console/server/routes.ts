import type { FastifyInstance } from "fastify";
import { registerActionRoutes } from "../actions/actionRoutes.ts";
import { registerClusterCatalogRoutes } from "../catalogs/catalogRoutes.ts";
import { registerClusterUpgradeRoutes } from "../clusterUpgrade/clusterUpgradeRoutes.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { registerDependencyRoutes } from "../dependencies/dependencyRoutes.ts";
import { registerExtensionRoutes } from "../extensions/extensionRoutes.ts";
import { registerHistoryRoutes } from "../history/historyRoutes.ts";
import type { ConsoleRoutes, ConsoleTypeProvider } from "../http/requestInput.ts";
import { registerInstallRoutes } from "../install/installRoutes.ts";
import { registerInstallationRoutes } from "../installation/installationRoutes.ts";
import { registerObjectRoutes } from "../objects/objectRoutes.ts";
import { registerPackageRoutes } from "../packages/packageRoutes.ts";
import { registerPermissionsRoutes } from "../permissions/permissionsRoutes.ts";
import { registerPlanRoutes } from "../plan/planRoutes.ts";
import { identifyCallers } from "../session/identifyCallers.ts";
import { registerSessionRoutes } from "../session/sessionRoutes.ts";
import { registerUninstallRoutes } from "../uninstall/uninstallRoutes.ts";
import { registerWhyRoutes } from "../why/whyRoutes.ts";

/** Registers all routes under /api. All except the login need an identity. */
export function registerApi(app: FastifyInstance, context: ConsoleContext): void {
  registerSessionRoutes(app.withTypeProvider<ConsoleTypeProvider>(), context);
  app.register(async (scope) => registerClusterRoutes(scope.withTypeProvider<ConsoleTypeProvider>(), context));
}

function registerClusterRoutes(api: ConsoleRoutes, context: ConsoleContext): void {
  identifyCallers(api, context.callers);
  registerInstallationRoutes(api, context);
  registerExtensionRoutes(api, context);
  registerObjectRoutes(api, context);
  registerClusterCatalogRoutes(api, context);
  registerPackageRoutes(api, context);
  registerInstallRoutes(api, context);
  registerWhyRoutes(api, context);
  registerDependencyRoutes(api, context);
  registerClusterUpgradeRoutes(api, context);
  registerActionRoutes(api, context);
  registerPlanRoutes(api, context);
  registerPermissionsRoutes(api, context);
  registerHistoryRoutes(api, context);
  registerUninstallRoutes(api, context);
}
