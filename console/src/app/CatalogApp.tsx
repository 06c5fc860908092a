import { FormSelect, FormSelectOption } from "@patternfly/react-core";
import { type ReactElement, Suspense } from "react";
import { createHashRouter, Navigate, NavLink, Outlet, RouterProvider } from "react-router";
import { Placeholder } from "../components/QueryView.tsx";
import { CatalogDataContext } from "../pages/packages/catalogData.tsx";
import { catalogdData } from "../pages/packages/catalogdData.ts";
import { sharedPackageRoutes } from "../pages/packages/routes.tsx";
import { text } from "../text/en.ts";
import { packagesText } from "../text/packages.ts";
import { PageError } from "./NotFoundPage.tsx";
import { PageFrame } from "./PageFrame.tsx";
import { type Theme, useTheme } from "./theme.ts";

const THEMES: readonly Theme[] = ["light", "dark", "system"];

/** The address of a page is in the fragment, because catalogd serves the page under one path, perhaps with a prefix. */
const router = createHashRouter([
  {
    element: <CatalogShell />,
    children: [
      {
        errorElement: <PageError />,
        children: [...sharedPackageRoutes, { path: "*", element: <Navigate to="/packages" replace /> }],
      },
    ],
  },
]);

/** The catalog part of the console, which catalogd serves. It has no access to a cluster. */
export function CatalogApp(): ReactElement {
  return (
    <CatalogDataContext value={catalogdData}>
      <RouterProvider router={router} />
    </CatalogDataContext>
  );
}

function CatalogShell(): ReactElement {
  return (
    <PageFrame home="/packages" logo="ui/favicon.svg" tools={<ThemeSelect />}>
      <Suspense fallback={<Placeholder lines={8} />}>
        <Outlet />
      </Suspense>
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
