import type { RouteObject } from "react-router";
import { attentionRoutes } from "../pages/attention/routes.tsx";
import { catalogRoutes } from "../pages/catalogs/routes.tsx";
import { clusterUpgradeRoutes } from "../pages/clusterUpgrade/routes.tsx";
import { dependencyRoutes } from "../pages/dependencies/routes.tsx";
import { extensionRoutes } from "../pages/extensions/routes.tsx";
import { installationRoutes } from "../pages/installation/routes.tsx";
import { packageRoutes } from "../pages/packages/routes.tsx";
import { NotFoundPage, PageError } from "./NotFoundPage.tsx";
import { Shell } from "./Shell.tsx";

/** All pages of the console. Each page is loaded when it is opened. */
export const consoleRoutes: RouteObject[] = [
  {
    element: <Shell />,
    children: [
      {
        errorElement: <PageError />,
        children: [
          ...attentionRoutes,
          ...extensionRoutes,
          ...installationRoutes,
          ...dependencyRoutes,
          ...clusterUpgradeRoutes,
          ...packageRoutes,
          ...catalogRoutes,
          { path: "*", element: <NotFoundPage /> },
        ],
      },
    ],
  },
];
