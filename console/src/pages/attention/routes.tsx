import { lazy } from "react";
import type { RouteObject } from "react-router";

const AttentionPage = lazy(() => import("./AttentionPage.tsx"));

/** The start page. */
export const attentionRoutes: RouteObject[] = [{ path: "/", element: <AttentionPage /> }];
