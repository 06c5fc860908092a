import type { QueryClient, QueryKey } from "@tanstack/react-query";

/**
 * Reads the queries again whose key begins with `queryKey`. Invalidation alone has no effect on a query that is still loading for the first time, and
 * its response can be older than the change, so such a query is read again as soon as it has loaded.
 */
export function refreshQueries(queries: QueryClient, queryKey: QueryKey): void {
  const loading = queries
    .getQueryCache()
    .findAll({ queryKey, fetchStatus: "fetching" })
    .filter(({ state }) => state.data === undefined);
  void queries.invalidateQueries({ queryKey });
  for (const { queryKey: key, promise } of loading) {
    const readAgain = (): Promise<void> => queries.invalidateQueries({ queryKey: key, exact: true }, { cancelRefetch: false });
    void promise?.then(readAgain, () => undefined);
  }
}
