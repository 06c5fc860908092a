import { type ProxyVariables, overridesProxy } from "../../api/proxy.ts";
import { isOfAnotherWriter, lastDeployed } from "../../release/record.ts";
import { type PassFacts, configOf } from "../facts.ts";

/** What the choice of an extension's proxy variables depends on. */
export type ProxyFacts = Pick<PassFacts, "extension" | "sourcedConfig" | "clusterProxy" | "history" | "resolved" | "installed">;

/**
 * The proxy variables that Deployments are rendered with in a pass:
 *
 * | spec.config names one | the cluster's proxy | deployed is                                    | variables                         |
 * | yes                   | any                 | anything                                       | none                              |
 * | no                    | not known           | anything                                       | those that it has; else none      |
 * | no                    | known, or none      | the same bundle, taken over from somebody else | those that it has: none           |
 * | no                    | known, or none      | anything else                                  | the cluster's                     |
 *
 * What was taken over is only looked at until it is upgraded: its Pods are not replaced for a proxy that they did without.
 */
export function proxyOf(facts: ProxyFacts): ProxyVariables | undefined {
  const { clusterProxy } = facts;
  if (overridesProxy(configOf(facts))) return undefined;
  if (clusterProxy.kind === "unknown" || isOnlyLookedAt(facts)) return lastDeployed(facts.history.current)?.proxy;
  return clusterProxy.kind === "known" ? clusterProxy.variables : undefined;
}

/** Why Deployments do not have the proxy of the cluster; undefined where they have, or are not to have it. */
export function proxyNote(facts: ProxyFacts): string | undefined {
  const { clusterProxy } = facts;
  if (clusterProxy.kind === "none" || overridesProxy(configOf(facts))) return undefined;
  if (clusterProxy.kind === "known")
    return isOnlyLookedAt(facts)
      ? "its Deployments get the proxy variables of the cluster with the next upgrade, since they were installed without by somebody else"
      : undefined;
  return `the proxy of the cluster is not known (${clusterProxy.because}): Deployments keep the proxy variables that they have, and new ones get none`;
}

function isOnlyLookedAt({ history, resolved, installed }: ProxyFacts): boolean {
  const base = lastDeployed(history.current);
  if (!base || installed?.name !== resolved?.name || installed?.version !== resolved?.version) return false;
  return isOfAnotherWriter(base) || base.takenOver === true;
}
