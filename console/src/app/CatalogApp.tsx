import {
  FormSelect,
  FormSelectOption,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadLogo,
  MastheadMain,
  Page,
  SkipToContent,
} from "@patternfly/react-core";
import { type ReactElement, Suspense } from "react";
import { createHashRouter, Navigate, NavLink, Outlet, RouterProvider } from "react-router";
import { Placeholder } from "../components/QueryView.tsx";
import { CatalogDataContext } from "../pages/packages/catalogData.tsx";
import { catalogdData } from "../pages/packages/catalogdData.ts";
import { sharedPackageRoutes } from "../pages/packages/routes.tsx";
import { text } from "../text/en.ts";
import { packagesText } from "../text/packages.ts";
import { PageError } from "./NotFoundPage.tsx";
import { type Theme, useTheme } from "./theme.ts";

const MAIN_ID = "main-content";
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
    <Page
      mainContainerId={MAIN_ID}
      skipToContent={
        <SkipToContent href={`#${MAIN_ID}`} onClick={focusMain}>
          {text.skipToContent}
        </SkipToContent>
      }
      masthead={<Header />}
    >
      <Suspense fallback={<Placeholder lines={8} />}>
        <Outlet />
      </Suspense>
      <footer className="olm-catalog-footer">
        {packagesText.catalogServer.readOnly} <a href="openapi.json">{packagesText.catalogServer.api}</a>
      </footer>
    </Page>
  );
}

function Header(): ReactElement {
  const [theme, setTheme] = useTheme();
  return (
    <Masthead display={{ default: "inline" }}>
      <MastheadMain>
        <MastheadBrand>
          <MastheadLogo component={(props) => <NavLink {...props} to="/packages" className="olm-logo" />}>
            <img src={"ui/favicon.svg"} alt="" width={28} height={28} />
            <span>{text.product}</span>
          </MastheadLogo>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
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
      </MastheadContent>
    </Masthead>
  );
}

/** Moves the focus without a new fragment, which is the address of the page. */
function focusMain(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById(MAIN_ID)?.focus();
}
