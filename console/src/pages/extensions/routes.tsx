import { lazy } from "react";
import type { RouteObject } from "react-router";

const ExtensionsPage = lazy(() => import("./ExtensionsPage.tsx"));

/** The list of extensions. */
export const extensionRoutes: RouteObject[] = [{ path: "/extensions", element: <ExtensionsPage /> }];
