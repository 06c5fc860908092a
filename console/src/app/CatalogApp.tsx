import { FormSelect, FormSelectOption } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { HashRouter, Navigate, type RouteObject, useRoutes } from "react-router";
import { CatalogDataContext } from "../pages/packages/catalogData.tsx";
import { catalogdData } from "../pages/packages/catalogdData.ts";
import { text } from "../text/en.ts";
import { packagesText } from "../text/packages.ts";
import { PageFrame } from "./PageFrame.tsx";
import { CATALOG_PAGES } from "./pages.ts";
import { buildRoutes, loadPage, PageOutlet } from "./routes.tsx";
import { type Theme, useTheme } from "./theme.ts";

const THEMES: readonly Theme[] = ["light", "dark", "system"];

const ROUTES: RouteObject[] = [
  { element: <CatalogShell />, children: [...buildRoutes(CATALOG_PAGES), { path: "*", element: <Navigate to="/packages" replace /> }] },
];

/** Loads the page of a path. */
export function loadCatalogPage(path: string): Promise<void> {
  return loadPage(ROUTES, path);
}

/**
 * The catalog part of the console, which catalogd serves. It has no access to a cluster. The address of a page is in the fragment, because catalogd
 * serves the page under one path, perhaps with a prefix.
 */
export function CatalogApp(): ReactElement {
  return (
    <CatalogDataContext value={catalogdData}>
      <HashRouter>
        <CatalogPages />
      </HashRouter>
    </CatalogDataContext>
  );
}

function CatalogPages(): ReactElement | null {
  return useRoutes(ROUTES);
}

function CatalogShell(): ReactElement {
  return (
    <PageFrame home="/packages" logo="ui/favicon.svg" tools={<ThemeSelect />}>
      <PageOutlet />
      <footer className="olm-catalog-footer">
        {packagesText.catalogServer.readOnly} <a href="openapi.json">{packagesText.catalogServer.api}</a>
      </footer>
    </PageFrame>
  );
}

function ThemeSelect(): ReactElement {
  const [theme, setTheme] = useTheme();
  return (
    <FormSelect
      className="olm-theme-select"
      aria-label={text.user.theme}
      value={theme}
      onChange={(_event, value) => setTheme(THEMES.find((one) => one === value) ?? "system")}
    >
      {THEMES.map((one) => (
        <FormSelectOption key={one} value={one} label={text.user.themes[one]} />
      ))}
    </FormSelect>
  );
}
