import { QueryClient, queryOptions } from "@tanstack/react-query";
import { createContext, type ReactElement, type ReactNode, useContext, useMemo } from "react";
import { Session } from "../../../pkg/consoleapi/session.ts";
import { type LiveSnapshot, LiveStore, useLiveSnapshot } from "../api/liveStore.ts";
import { getJson, RequestError } from "../api/request.ts";
import { refreshQueries } from "./refreshQueries.ts";

interface ConsoleState {
  readonly session: Session;
  readonly live: LiveStore;
}

const Context = createContext<ConsoleState | undefined>(undefined);

/** Creates the cache of requests. Errors that a retry cannot fix are not retried. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        refetchOnWindowFocus: false,
        networkMode: "always", // the console on this computer works without a network
        retry: (count, err) => count < 2 && err instanceof RequestError && err.problem.kind === "disconnected",
      },
    },
  });
}

/** Reads the session. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => getJson("/api/session", Session, signal),
  staleTime: Number.POSITIVE_INFINITY,
});

/**
 * Starts to read the session and the live rows, before the program of the page is loaded. Reads the queries of an object again when its row changes:
 * the keys of queries about an extension begin with `["extension", name]`, those about a catalog with `["catalog", name]`, those about all objects of
 * a kind with `["extensions"]` or `["catalogs"]`.
 */
export function startConsole(queries: QueryClient): LiveStore {
  void queries.prefetchQuery(sessionQuery);
  const live = new LiveStore((kind, names) => {
    refreshQueries(queries, [kind]);
    for (const name of names) refreshQueries(queries, [kind === "extensions" ? "extension" : "catalog", name]);
  });
  void live.run();
  return live;
}

/** Provides the session and the live rows. */
export function ConsoleStateProvider({
  session,
  live,
  children,
}: {
  readonly session: Session;
  readonly live: LiveStore;
  readonly children: ReactNode;
}): ReactElement {
  const state = useMemo(() => ({ session, live }), [session, live]);
  return <Context.Provider value={state}>{children}</Context.Provider>;
}

function useConsoleState(): ConsoleState {
  const state = useContext(Context);
  if (!state) throw new Error("the component is outside of ConsoleStateProvider");
  return state;
}

/** Returns the session. */
export function useSession(): Session {
  return useConsoleState().session;
}

/** Returns the live rows and the states of the connections. */
export function useLive(): LiveSnapshot {
  return useLiveSnapshot(useConsoleState().live);
}

/** Returns the address of the list of extensions, with the namespace that the console was started with. */
export function useExtensionsPath(): string {
  const { namespace } = useSession();
  return namespace === undefined ? "/extensions" : `/extensions?namespace=${encodeURIComponent(namespace)}`;
}
