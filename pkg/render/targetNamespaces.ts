import { compareText } from "../text/compare.ts";
import { installModes } from "../bundle/validate.ts";
import type { Csv } from "../bundle/types.ts";

/**
 * The namespaces that the operator is to watch: those that were asked for, sorted and each once, else `[""]` (all) when the bundle supports
 * it, else none.
 */
export function targetNamespaces(csv: Csv, asked: readonly string[] | undefined): string[] {
  if (asked !== undefined) return [...new Set(asked)].sort(compareText);
  return installModes(csv).has("AllNamespaces") ? [""] : [];
}

/** Why the bundle cannot watch `targets`, in operator-controller's words; undefined when it can. */
export function targetFault(csv: Csv, installNamespace: string, targets: readonly string[]): string | undefined {
  const modes = installModes(csv);
  const supported = `supported install modes [${[...modes].sort().join(" ")}]`;
  const set = new Set(targets);
  if (set.size === 0) return `${modes.has("MultiNamespace") ? "at least" : "exactly"} one target namespace must be specified`;
  if (set.size === 1 && set.has("")) return modes.has("AllNamespaces") ? undefined : `${supported} do not support targeting all namespaces`;
  if (set.has(installNamespace) && !modes.has("OwnNamespace")) return `${supported} do not support targeting own namespace`;
  const fits = set.size === 1 ? set.has(installNamespace) || modes.has("SingleNamespace") : modes.has("MultiNamespace") && !set.has("");
  return fits ? undefined : `${supported} do not support target namespaces [${targets.join(" ")}]`;
}
