import type { Csv } from "../bundle/types.ts";
import { listSupportedInstallModes } from "../bundle/validate.ts";
import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";
import type { SchemaFailure } from "./jsonSchema.ts";

/**
 * Returns the namespaces that the operator watches: the distinct requested namespaces, sorted. Without a request, `[""]` (all namespaces) if the
 * bundle supports it, otherwise none.
 */
export function chooseTargetNamespaces(csv: Csv, requested: readonly string[] | undefined): string[] {
  if (requested !== undefined) return [...new Set(requested)].sort(compareText);
  return listSupportedInstallModes(csv).has("AllNamespaces") ? [""] : [];
}

/** Returns the error, with the text of operator-controller, if the bundle cannot watch `targets`; otherwise undefined. */
export function findTargetFault(csv: Csv, installNamespace: string, targets: readonly string[]): string | undefined {
  const modes = listSupportedInstallModes(csv);
  const supported = `supported install modes [${[...modes].sort().join(" ")}]`;
  const set = new Set(targets);
  if (set.size === 0) return `${modes.has("MultiNamespace") ? "at least" : "exactly"} one target namespace must be specified`;
  if (set.size === 1 && set.has("")) return modes.has("AllNamespaces") ? undefined : `${supported} do not support targeting all namespaces`;
  if (set.has(installNamespace) && !modes.has("OwnNamespace")) return `${supported} do not support targeting own namespace`;
  const fits = set.size === 1 ? set.has(installNamespace) || modes.has("SingleNamespace") : modes.has("MultiNamespace") && !set.has("");
  return fits ? undefined : `${supported} do not support target namespaces [${targets.join(" ")}]`;
}

/** The configuration fields for watched namespaces. */
interface WatchMembers {
  watchNamespace?: unknown;
  watchNamespaces?: unknown;
}

/** Values for all namespaces: the empty text of Kubernetes and the `*` of OLM documentation. */
const ALL_TEXTS = ["", "*"] as const;

/**
 * The watched namespaces of a configuration.
 * @see X-12: both texts for all namespaces count as all.
 */
export interface WatchScope {
  /** Requested namespaces; `[""]` for all; absent if not set. Valid only after the rest was validated. */
  readonly requested?: readonly string[];
  /** The configuration without values for all namespaces, which the Go implementation does not support. */
  readonly rest: unknown;
}

/** Reads the watched namespaces. @param config unvalidated configuration. */
export function readWatchScope(csv: Csv, config: unknown, extended: boolean): WatchScope {
  if (typeof config !== "object" || config === null || Array.isArray(config)) return { rest: config };
  const { watchNamespace, watchNamespaces, ...others } = config as WatchMembers;
  const mayAll = extended && listSupportedInstallModes(csv).has("AllNamespaces");
  const one = mayAll && meansAll(watchNamespace);
  const list = mayAll && Array.isArray(watchNamespaces) && watchNamespaces.length === 1 && meansAll(watchNamespaces[0]);
  const rest = {
    ...others,
    ...(one || watchNamespace === undefined ? {} : { watchNamespace }),
    ...(list || watchNamespaces === undefined ? {} : { watchNamespaces }),
  };
  if (one || list) return { requested: [""], rest };
  if (Array.isArray(watchNamespaces)) return { requested: watchNamespaces as string[], rest };
  return { ...(typeof watchNamespace === "string" ? { requested: [watchNamespace] } : {}), rest };
}

/** Checks that only one of the two fields is set. */
export function findExclusionFault(config: unknown): SchemaFailure | undefined {
  const { watchNamespace, watchNamespaces } = config as WatchMembers;
  if (watchNamespace === undefined || watchNamespace === null || watchNamespaces === undefined) return undefined;
  return rule(`fields "watchNamespace" and "watchNamespaces" are mutually exclusive: remove one of them`);
}

/** Returns why the bundle cannot watch a list of valid namespaces; undefined if it can. */
export function findListFault(csv: Csv, installNamespace: string, requested: readonly string[]): SchemaFailure | undefined {
  const targets = chooseTargetNamespaces(csv, requested);
  const fault = findTargetFault(csv, installNamespace, targets);
  if (fault === undefined) return undefined;
  const [only] = targets;
  const isOwn = targets.includes(installNamespace) && !listSupportedInstallModes(csv).has("OwnNamespace");
  const reason = isOwn
    ? `${goQuote(installNamespace)} is the install namespace`
    : `watching only ${goQuote(only ?? "")} requires SingleNamespace`;
  return rule(`invalid value for field "watchNamespaces": ${fault} (${reason})`);
}

/** Returns explanations of namespace errors by field, based on the install modes of the bundle. */
export function explainWatchErrors(csv: Csv, config: unknown, extended: boolean): ReadonlyMap<string, string> {
  const modes = listSupportedInstallModes(csv);
  const supported = `the bundle supports install modes [${[...modes].sort().join(" ")}]`;
  const { watchNamespace, watchNamespaces } = Object(config) as WatchMembers;
  const list: readonly unknown[] = Array.isArray(watchNamespaces) ? watchNamespaces : [];
  const all = [watchNamespace, ...list].find(meansAll);
  const mayAll = modes.has("AllNamespaces");
  const mayOne = modes.has("OwnNamespace") || modes.has("SingleNamespace");
  const mayList = extended && modes.has("MultiNamespace");
  const remarks = new Map<string, string>();
  if (extended && all !== undefined && !mayAll) remarks.set("all", `${goQuote(all)} means all namespaces, but ${supported}`);
  else if (extended && all !== undefined && list.length > 1)
    remarks.set("all", `${goQuote(all)} means all namespaces and must be the only item`);
  const isAll = mayAll && all !== undefined;
  if (watchNamespace !== undefined && !mayOne && !isAll) {
    const how = mayList ? ": use watchNamespaces instead" : mayAll ? ": it watches all namespaces" : "";
    remarks.set("watchNamespace", `${supported}${how}`);
  } else if (watchNamespaces !== undefined && extended && !mayList && !isAll) {
    remarks.set("watchNamespaces", `watchNamespaces requires install mode MultiNamespace, but ${supported}`);
  } else if (watchNamespace === undefined && watchNamespaces === undefined && mayOne && mayList && !mayAll) {
    remarks.set("watchNamespace", `${supported}: set watchNamespaces instead`);
  }
  return remarks;
}

function meansAll(text: unknown): text is (typeof ALL_TEXTS)[number] {
  return ALL_TEXTS.some((known) => known === text);
}

function rule(text: string): SchemaFailure {
  return { fault: { keyword: "rule", text }, path: [], causes: [] };
}
