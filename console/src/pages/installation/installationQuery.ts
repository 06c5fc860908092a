import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { InstallationReport } from "../../../../pkg/consoleapi/installation.ts";
import { getJson } from "../../api/request.ts";

const CHECK_MS = 60_000;

/** Reads the checks of the installation, again every minute. */
export function useInstallation(): UseQueryResult<InstallationReport> {
  return useQuery({
    queryKey: ["installation"],
    queryFn: ({ signal }) => getJson("/api/installation", InstallationReport, signal),
    refetchInterval: CHECK_MS,
    staleTime: CHECK_MS,
  });
}
