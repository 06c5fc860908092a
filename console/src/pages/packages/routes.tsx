import { lazy } from "react";
import { Outlet, type RouteObject } from "react-router";
import { CatalogDataContext } from "./catalogData.tsx";
import { consoleCatalogData } from "./consoleCatalogData.ts";

const PackagesPage = lazy(() => import("./PackagesPage.tsx"));
const PackagePage = lazy(() => import("./PackagePage.tsx"));

const InstallPage = lazy(() => import("../install/InstallPage.tsx"));

/** The pages that the console and catalogd show. */
export const sharedPackageRoutes: RouteObject[] = [
  { path: "/packages", element: <PackagesPage /> },
  { path: "/packages/:package", element: <PackagePage /> },
];

/** The software catalog. */
export const packageRoutes: RouteObject[] = [
  {
    element: (
      <CatalogDataContext value={consoleCatalogData}>
        <Outlet />
      </CatalogDataContext>
    ),
    children: [...sharedPackageRoutes, { path: "/packages/:package/install", element: <InstallPage /> }],
  },
];
