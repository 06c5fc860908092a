import { lazy } from "react";
import type { RouteObject } from "react-router";

const InstallationPage = lazy(() => import("./InstallationPage.tsx"));

/** The checks of the installation. */
export const installationRoutes: RouteObject[] = [{ path: "/installation", element: <InstallationPage /> }];
