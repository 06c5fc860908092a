import "@patternfly/patternfly/patternfly-base.css";
import "./console.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { type ReactElement, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { CrashedPage } from "./app/CrashedPage.tsx";
import { createQueryClient, startConsole } from "./app/consoleState.tsx";
import { ErrorBoundary } from "./app/ErrorBoundary.tsx";

/** The server writes into the page which part it serves. */
const mode = document.querySelector<HTMLMetaElement>('meta[name="olmv1-mode"]')?.content;
const queries = createQueryClient();
const LOGIN_PATH = "/login";

async function loadApp(): Promise<ReactElement> {
  if (mode === "catalog") {
    const { CatalogApp, loadCatalogPage } = await import("./app/CatalogApp.tsx");
    await loadCatalogPage(location.hash.slice(1));
    return <CatalogApp />;
  }
  const live = location.pathname === LOGIN_PATH ? undefined : startConsole(queries);
  const { App, loadConsolePage } = await import("./app/App.tsx");
  if (live) await loadConsolePage(location.pathname);
  return <App live={live} />;
}

const app = await loadApp();

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <ErrorBoundary renderError={(error) => <CrashedPage error={error} />}>
      <QueryClientProvider client={queries}>{app}</QueryClientProvider>
    </ErrorBoundary>
  </StrictMode>,
);
