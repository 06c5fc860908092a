import { useMemo } from "react";
import { useSearchParams } from "react-router";
import * as z from "zod/mini";
import { PackageFilters } from "../../../../pkg/consoleapi/packages.ts";

const NAMES = ["text", "catalog", "arch", "capability", "deprecated", "installed", "installable", "supported", "signed"] as const;

/** The filters in the address, and a function that changes some of them. An undefined value removes a filter. */
export function usePackageFilters(): [PackageFilters, (change: Partial<Record<(typeof NAMES)[number], string | undefined>>) => void] {
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => {
    const given = Object.fromEntries(NAMES.flatMap((name) => (params.get(name) ? [[name, params.get(name)]] : [])));
    const parsed = z.safeParse(PackageFilters, given);
    return parsed.success ? parsed.data : {};
  }, [params]);
  return [
    filters,
    (change) =>
      setParams(
        (old) => {
          const next = new URLSearchParams(old);
          for (const [name, value] of Object.entries(change)) {
            if (value === undefined || value === "") next.delete(name);
            else next.set(name, value);
          }
          return next;
        },
        { replace: true },
      ),
  ];
}
