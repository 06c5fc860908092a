import { type ComponentType, lazy, type ReactElement, Suspense } from "react";
import { Outlet, type RouteObject, useLocation } from "react-router";
import { Placeholder } from "../components/QueryView.tsx";
import { ErrorBoundary } from "./ErrorBoundary.tsx";
import { PageError } from "./NotFoundPage.tsx";
import type { PageEntry } from "./pages.ts";

const MODULES = import.meta.glob<{ default: ComponentType }>("../pages/**/*{Page,Tab}.tsx");

/** Returns the routes of pages. */
export function buildRoutes(pages: readonly PageEntry[]): RouteObject[] {
  return pages.map(({ path, module, children }) => {
    const load = MODULES[`../pages/${module}.tsx`];
    if (!load) throw new Error(`page ${path} has no module ${module}`);
    const Page = lazy(load);
    const element = <Page />;
    if (children) return { ...(path === "" ? {} : { path }), element, children: buildRoutes(children) };
    return path === "" ? { index: true, element } : { path, element };
  });
}

/** The page of the address, while it loads a placeholder. If the page fails, shows its error until the next navigation. */
export function PageOutlet(): ReactElement {
  const { pathname } = useLocation();
  return (
    <ErrorBoundary path={pathname} renderError={(error) => <PageError error={error} />}>
      <Suspense fallback={<Placeholder lines={8} />}>
        <Outlet />
      </Suspense>
    </ErrorBoundary>
  );
}
