import { lazy } from "react";
import type { RouteObject } from "react-router";

const CatalogsPage = lazy(() => import("./CatalogsPage.tsx"));
const CatalogPage = lazy(() => import("./CatalogPage.tsx"));

/** The list of catalogs, and the page of each. */
export const catalogRoutes: RouteObject[] = [
  { path: "/catalogs", element: <CatalogsPage /> },
  { path: "/catalogs/:name", element: <CatalogPage /> },
];
