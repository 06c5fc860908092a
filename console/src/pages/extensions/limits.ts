import { useSearchParams } from "react-router";
import { isAwaited } from "../../api/liveStore.ts";
import { useLive } from "../../app/consoleState.tsx";

/** The parameters of the address: limits to try in place of those of the extension. */
const LIMITS = ["range", "channels", "policy"] as const;

/** Returns the limits in the address, and a function that changes the address. */
export function useLimits(): readonly [URLSearchParams, ReturnType<typeof useSearchParams>[1]] {
  const [params, setParams] = useSearchParams();
  const limits = new URLSearchParams(LIMITS.flatMap((key) => (params.has(key) ? [[key, params.get(key) ?? ""]] : [])));
  return [limits, setParams];
}

/**
 * Returns what a computation about the next bundle depends on; undefined while the extensions load. It changes with the spec, the installed bundle and
 * the pending plan, and not with the rest of the status, so that the computation does not start again with each Event of a rollout.
 */
export function useComputationBasis(name: string): string | undefined {
  const { extensions, watches } = useLive();
  const row = extensions.get(name);
  if (!row) return isAwaited(watches.extensions) ? undefined : "";
  return [row.uid, row.bundle, row.range, row.channels.join(), row.approval, row.pendingPlan, row.serviceAccount, row.holds.join()].join(
    " ",
  );
}
