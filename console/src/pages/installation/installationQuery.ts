import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { Installation } from "../../../../pkg/consoleapi/installation.ts";
import { getJson } from "../../api/request.ts";

const CHECK_MS = 60_000;

/** Reads the checks of the installation, again every minute. */
export function useInstallation(): UseQueryResult<Installation> {
  return useQuery({
    queryKey: ["installation"],
    queryFn: ({ signal }) => getJson("/api/installation", Installation, signal),
    refetchInterval: CHECK_MS,
    staleTime: CHECK_MS,
  });
}
