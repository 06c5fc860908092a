import "@patternfly/patternfly/patternfly-base.css";
import "./console.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createQueryClient } from "./app/consoleState.tsx";
import { ErrorBoundary } from "./app/ErrorBoundary.tsx";

const queries = createQueryClient();
const { App } = await import("./app/App.tsx");

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <ErrorBoundary>
      <QueryClientProvider client={queries}>
        <App queries={queries} />
      </QueryClientProvider>
    </ErrorBoundary>
  </StrictMode>,
);
