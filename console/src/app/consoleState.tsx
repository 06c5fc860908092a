import { QueryClient } from "@tanstack/react-query";
import { createContext, type ReactElement, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import type { Session } from "../../../pkg/consoleapi/session.ts";
import { type LiveSnapshot, LiveStore, useLiveSnapshot } from "../api/liveStore.ts";
import { RequestError } from "../api/request.ts";

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

/**
 * Provides the session and the live rows. Invalidates the queries of an object when its row changes: the keys of queries about an extension begin
 * with `["extension", name]`, those about a catalog with `["catalog", name]`, those about all objects of a kind with `["extensions"]` or `["catalogs"]`.
 */
export function ConsoleStateProvider({
  session,
  queries,
  children,
}: {
  readonly session: Session;
  readonly queries: QueryClient;
  readonly children: ReactNode;
}): ReactElement {
  const [live] = useState(
    () =>
      new LiveStore((kind, names) => {
        void queries.invalidateQueries({ queryKey: [kind] });
        for (const name of names) void queries.invalidateQueries({ queryKey: [kind === "extensions" ? "extension" : "catalog", name] });
      }),
  );
  useEffect(() => {
    const stop = new AbortController();
    void live.run(stop.signal);
    return () => stop.abort();
  }, [live]);
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
