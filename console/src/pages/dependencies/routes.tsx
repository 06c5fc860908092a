import { lazy } from "react";
import type { RouteObject } from "react-router";

const DependenciesPage = lazy(() => import("./DependenciesPage.tsx"));

/** The dependencies between extensions. */
export const dependencyRoutes: RouteObject[] = [{ path: "/dependencies", element: <DependenciesPage /> }];
