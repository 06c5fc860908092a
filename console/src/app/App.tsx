import type { QueryClient } from "@tanstack/react-query";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { BrowserRouter, type RouteObject, useRoutes } from "react-router";
import { Session } from "../../../pkg/consoleapi/session.ts";
import { getJson, RequestError } from "../api/request.ts";
import { ErrorState } from "../components/ErrorState.tsx";
import { Placeholder } from "../components/QueryView.tsx";
import { ConsoleStateProvider } from "./consoleState.tsx";
import { LoginPage, SignedOut } from "./LoginPage.tsx";
import { NotFoundPage } from "./NotFoundPage.tsx";
import { CONSOLE_PAGES } from "./pages.ts";
import { buildRoutes } from "./routes.tsx";
import { Shell } from "./Shell.tsx";

const ROUTES: RouteObject[] = [{ element: <Shell />, children: [...buildRoutes(CONSOLE_PAGES), { path: "*", element: <NotFoundPage /> }] }];

/** The console: signs in, then shows the page of the address. */
export function App({ queries }: { readonly queries: QueryClient }): ReactElement {
  if (location.pathname === "/login") return <LoginPage />;
  return <SignedIn queries={queries} />;
}

function SignedIn({ queries }: { readonly queries: QueryClient }): ReactElement {
  const query = useQuery({
    queryKey: ["session"],
    queryFn: ({ signal }) => getJson("/api/session", Session, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (query.data === undefined) {
    if (!query.isError) return <Placeholder lines={3} />;
    if (query.error instanceof RequestError && query.error.problem.kind === "signedOut") return <SignedOut problem={query.error.problem} />;
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  }
  return (
    <ConsoleStateProvider session={query.data} queries={queries}>
      <BrowserRouter>
        <ConsolePages />
      </BrowserRouter>
    </ConsoleStateProvider>
  );
}

function ConsolePages(): ReactElement | null {
  return useRoutes(ROUTES);
}
