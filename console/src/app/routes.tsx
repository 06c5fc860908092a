import { type ComponentType, lazy, type ReactElement, Suspense } from "react";
import { matchRoutes, Outlet, type RouteObject, useLocation } from "react-router";
import { Placeholder } from "../components/QueryView.tsx";
import { ErrorBoundary } from "./ErrorBoundary.tsx";
import { PageError } from "./NotFoundPage.tsx";
import type { PageEntry } from "./pages.ts";

const MODULES = import.meta.glob<{ default: ComponentType }>("../pages/**/*{Page,Tab}.tsx");

/** Loads the component of a route. */
interface LoadingHandle {
  readonly load: () => Promise<void>;
}

/** Returns the routes of pages. */
export function buildRoutes(pages: readonly PageEntry[]): RouteObject[] {
  return pages.map(({ path, module, children }) => {
    const { Page, ...handle } = createPage(`../pages/${module}.tsx`);
    const route = { element: <Page />, handle: handle satisfies LoadingHandle };
    if (children) return { ...route, ...(path === "" ? {} : { path }), children: buildRoutes(children) };
    return path === "" ? { ...route, index: true } : { ...route, path };
  });
}

function createPage(file: string): LoadingHandle & { readonly Page: ComponentType } {
  const load = MODULES[file];
  if (!load) throw new Error(`the page ${file} does not exist`);
  const LazyPage = lazy(load);
  let Loaded: ComponentType | undefined;
  return {
    load: async () => void (Loaded = (await load()).default),
    Page: () => (Loaded ? <Loaded /> : <LazyPage />),
  };
}

/**
 * Loads the page of an address before the first rendering. Otherwise React shows a placeholder first, and keeps it for 300 ms, even if the files are
 * there. If they cannot be loaded, the page shows the error.
 */
export async function loadPage(routes: RouteObject[], path: string): Promise<void> {
  const handles = (matchRoutes(routes, path) ?? []).flatMap(({ route }): LoadingHandle[] => (route.handle ? [route.handle] : []));
  await Promise.allSettled(handles.map(({ load }) => load()));
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
