import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { BrowserRouter, type RouteObject, useRoutes } from "react-router";
import type { LiveStore } from "../api/liveStore.ts";
import { RequestError } from "../api/request.ts";
import { ErrorState } from "../components/ErrorState.tsx";
import { Placeholder } from "../components/QueryView.tsx";
import { ConsoleStateProvider, sessionQuery } from "./consoleState.tsx";
import { LoginPage, SignedOut } from "./LoginPage.tsx";
import { NotFoundPage } from "./NotFoundPage.tsx";
import { CONSOLE_PAGES } from "./pages.ts";
import { buildRoutes, loadPage } from "./routes.tsx";
import { Shell } from "./Shell.tsx";

const ROUTES: RouteObject[] = [{ element: <Shell />, children: [...buildRoutes(CONSOLE_PAGES), { path: "*", element: <NotFoundPage /> }] }];

/** Loads the page of a path. */
export function loadConsolePage(path: string): Promise<void> {
  return loadPage(ROUTES, path);
}

/** The console: signs in, then shows the page of the address. */
export function App({ live }: { readonly live: LiveStore | undefined }): ReactElement {
  return live ? <SignedIn live={live} /> : <LoginPage />;
}

function SignedIn({ live }: { readonly live: LiveStore }): ReactElement {
  const query = useQuery(sessionQuery);
  if (query.data === undefined) {
    if (!query.isError) return <Placeholder lines={3} />;
    if (query.error instanceof RequestError && query.error.problem.kind === "signedOut") return <SignedOut problem={query.error.problem} />;
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  }
  return (
    <ConsoleStateProvider session={query.data} live={live}>
      <BrowserRouter>
        <ConsolePages />
      </BrowserRouter>
    </ConsoleStateProvider>
  );
}

function ConsolePages(): ReactElement | null {
  return useRoutes(ROUTES);
}
