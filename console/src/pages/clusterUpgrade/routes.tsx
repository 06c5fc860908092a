import { lazy } from "react";
import type { RouteObject } from "react-router";

const ClusterUpgradePage = lazy(() => import("./ClusterUpgradePage.tsx"));

/** What blocks an upgrade of the cluster. */
export const clusterUpgradeRoutes: RouteObject[] = [{ path: "/cluster-upgrade", element: <ClusterUpgradePage /> }];
