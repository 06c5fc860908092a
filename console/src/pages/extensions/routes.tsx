import { lazy } from "react";
import type { RouteObject } from "react-router";
import { extensionTabs } from "./tabs.tsx";

const ExtensionsPage = lazy(() => import("./list/ExtensionsPage.tsx"));
const ExtensionPage = lazy(() => import("./ExtensionPage.tsx"));

/** The list of extensions, and the page of one extension with its tabs. */
export const extensionRoutes: RouteObject[] = [
  { path: "/extensions", element: <ExtensionsPage /> },
  {
    path: "/extensions/:name",
    element: <ExtensionPage />,
    children: extensionTabs.map(({ path, element }) => (path === "" ? { index: true, element } : { path, element })),
  },
];
