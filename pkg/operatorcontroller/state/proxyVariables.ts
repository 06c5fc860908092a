import { overridesProxy, PROXY_NAMES, type ProxyVariables } from "../../api/proxy.ts";
import { isOfAnotherWriter, lastDeployed } from "../../release/record.ts";
import { configOf } from "./extensionSpec.ts";
import { isInstalled, type WithBundle } from "./phases.ts";

/** What the choice of an extension's proxy variables depends on. */
export type ProxyInputs = Pick<WithBundle, "extension" | "sourcedConfig" | "clusterProxy" | "releases" | "bundle">;

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
export function proxyOf(inputs: ProxyInputs): ProxyVariables | undefined {
  const { clusterProxy } = inputs;
  if (overridesProxy(configOf(inputs))) return undefined;
  if (clusterProxy.kind === "unknown" || isOnlyLookedAt(inputs)) return lastDeployed(inputs.releases.history.current)?.proxy;
  return clusterProxy.kind === "known" ? clusterProxy.variables : undefined;
}

/** Why Deployments do not have the proxy of the cluster; undefined where they have, or are not to have it. */
export function proxyNote(inputs: ProxyInputs): string | undefined {
  const { clusterProxy } = inputs;
  if (clusterProxy.kind === "none" || overridesProxy(configOf(inputs))) return undefined;
  if (clusterProxy.kind === "known")
    return isOnlyLookedAt(inputs)
      ? "its Deployments get the proxy variables of the cluster with the next upgrade, since they were installed without by somebody else"
      : undefined;
  return `the proxy of the cluster is not known (${clusterProxy.because}): Deployments keep the proxy variables that they have, and new ones get none`;
}

function isOnlyLookedAt(inputs: ProxyInputs): boolean {
  const base = lastDeployed(inputs.releases.history.current);
  if (!base || !isInstalled(inputs)) return false;
  return isOfAnotherWriter(base) || base.takenOver === true;
}

/** Which variables differ, without their values, which may hold passwords; undefined where none does. */
export function proxyChange(before: ProxyVariables = {}, after: ProxyVariables = {}): string | undefined {
  const changes = PROXY_NAMES.flatMap((name) => {
    const [from, to] = [before[name], after[name]];
    if (from === to) return [];
    return [`${name} ${from === undefined ? "set" : to === undefined ? "removed" : "changed"}`];
  });
  return changes.length === 0 ? undefined : changes.join(", ");
}
