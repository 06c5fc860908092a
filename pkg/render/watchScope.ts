import type { Csv } from "../bundle/types.ts";
import { supportedInstallModes } from "../bundle/validate.ts";
import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";
import type { SchemaFailure } from "./jsonSchema.ts";

/**
 * The namespaces that the operator is to watch: those that were asked for, sorted and each once, else `[""]` (all) when the bundle supports
 * it, else none.
 */
export function targetNamespaces(csv: Csv, asked: readonly string[] | undefined): string[] {
  if (asked !== undefined) return [...new Set(asked)].sort(compareText);
  return supportedInstallModes(csv).has("AllNamespaces") ? [""] : [];
}

/** Why the bundle cannot watch `targets`, in operator-controller's words; undefined when it can. */
export function targetFault(csv: Csv, installNamespace: string, targets: readonly string[]): string | undefined {
  const modes = supportedInstallModes(csv);
  const supported = `supported install modes [${[...modes].sort().join(" ")}]`;
  const set = new Set(targets);
  if (set.size === 0) return `${modes.has("MultiNamespace") ? "at least" : "exactly"} one target namespace must be specified`;
  if (set.size === 1 && set.has("")) return modes.has("AllNamespaces") ? undefined : `${supported} do not support targeting all namespaces`;
  if (set.has(installNamespace) && !modes.has("OwnNamespace")) return `${supported} do not support targeting own namespace`;
  const fits = set.size === 1 ? set.has(installNamespace) || modes.has("SingleNamespace") : modes.has("MultiNamespace") && !set.has("");
  return fits ? undefined : `${supported} do not support target namespaces [${targets.join(" ")}]`;
}

/** The members of a configuration that say which namespaces are watched. */
interface WatchMembers {
  watchNamespace?: unknown;
  watchNamespaces?: unknown;
}

/** What stands for all namespaces: a target set of Kubernetes' empty text, or of `*`, as OLM's documents write it. */
const ALL_TEXTS = ["", "*"] as const;

/**
 * What a configuration says about namespaces, taken apart.
 * @see X-12: both texts for all namespaces count as all.
 */
export interface WatchScope {
  /** Namespaces asked for, each as it was given; `[""]` for all; absent where nothing is said. Only sound after the rest was checked. */
  readonly asked?: readonly string[];
  /** The configuration without members that stand for all namespaces: the Go implementation does not know them. */
  readonly rest: unknown;
}

/** @param config as it was given, of any form. */
export function watchScope(csv: Csv, config: unknown, extended: boolean): WatchScope {
  if (typeof config !== "object" || config === null || Array.isArray(config)) return { rest: config };
  const { watchNamespace, watchNamespaces, ...others } = config as WatchMembers;
  const mayAll = extended && supportedInstallModes(csv).has("AllNamespaces");
  const one = mayAll && standsForAll(watchNamespace);
  const list = mayAll && Array.isArray(watchNamespaces) && watchNamespaces.length === 1 && standsForAll(watchNamespaces[0]);
  const rest = {
    ...others,
    ...(one || watchNamespace === undefined ? {} : { watchNamespace }),
    ...(list || watchNamespaces === undefined ? {} : { watchNamespaces }),
  };
  if (one || list) return { asked: [""], rest };
  if (Array.isArray(watchNamespaces)) return { asked: watchNamespaces as string[], rest };
  return { ...(typeof watchNamespace === "string" ? { asked: [watchNamespace] } : {}), rest };
}

/** What is wrong with the two members together, whatever is wrong with each. */
export function exclusionFault(config: unknown): SchemaFailure | undefined {
  const { watchNamespace, watchNamespaces } = config as WatchMembers;
  if (watchNamespace === undefined || watchNamespace === null || watchNamespaces === undefined) return undefined;
  return rule(`fields "watchNamespace" and "watchNamespaces" exclude each other: leave one of them out`);
}

/** Why the bundle cannot watch a list of namespaces of which each is well-formed. */
export function listFault(csv: Csv, installNamespace: string, asked: readonly string[]): SchemaFailure | undefined {
  const targets = targetNamespaces(csv, asked);
  const fault = targetFault(csv, installNamespace, targets);
  if (fault === undefined) return undefined;
  const [only] = targets;
  const isOwn = targets.includes(installNamespace) && !supportedInstallModes(csv).has("OwnNamespace");
  const why = isOwn
    ? `${goQuote(installNamespace)} is where it is installed`
    : `for ${goQuote(only ?? "")} alone, SingleNamespace is needed`;
  return rule(`invalid value for field "watchNamespaces": ${fault} (${why})`);
}

/** What the bundle's install modes have to do with what is wrong about namespaces; by the member of the configuration. */
export function watchRemarks(csv: Csv, config: unknown, extended: boolean): ReadonlyMap<string, string> {
  const modes = supportedInstallModes(csv);
  const supported = `the bundle supports install modes [${[...modes].sort().join(" ")}]`;
  const { watchNamespace, watchNamespaces } = Object(config) as WatchMembers;
  const list: readonly unknown[] = Array.isArray(watchNamespaces) ? watchNamespaces : [];
  const all = [watchNamespace, ...list].find(standsForAll);
  const mayAll = modes.has("AllNamespaces");
  const mayOne = modes.has("OwnNamespace") || modes.has("SingleNamespace");
  const mayList = extended && modes.has("MultiNamespace");
  const remarks = new Map<string, string>();
  if (extended && all !== undefined && !mayAll) remarks.set("all", `${goQuote(all)} stands for all namespaces, and ${supported}`);
  else if (extended && all !== undefined && list.length > 1) remarks.set("all", `${goQuote(all)} stands for all namespaces, and alone`);
  const isAll = mayAll && all !== undefined;
  if (watchNamespace !== undefined && !mayOne && !isAll) {
    const how = mayList ? ": name the namespaces in watchNamespaces" : mayAll ? ": it watches all namespaces" : "";
    remarks.set("watchNamespace", `${supported}${how}`);
  } else if (watchNamespaces !== undefined && extended && !mayList && !isAll) {
    remarks.set("watchNamespaces", `watchNamespaces is for install mode MultiNamespace, and ${supported}`);
  } else if (watchNamespace === undefined && watchNamespaces === undefined && mayOne && mayList && !mayAll) {
    remarks.set("watchNamespace", `${supported}: watchNamespaces, a list, may stand in its place`);
  }
  return remarks;
}

function standsForAll(text: unknown): text is (typeof ALL_TEXTS)[number] {
  return ALL_TEXTS.some((known) => known === text);
}

function rule(text: string): SchemaFailure {
  return { fault: { keyword: "rule", text }, path: [], causes: [] };
}
