import { overridesProxy, PROXY_NAMES, type ProxyVariables } from "../../api/proxy.ts";
import { findLastDeployed, isOfAnotherWriter } from "../../release/record.ts";
import { getConfiguration } from "./extensionSpec.ts";
import { isInstalled, type WithBundle } from "./phases.ts";

/** Inputs for the proxy variables of an extension. */
export type ProxyInputs = Pick<WithBundle, "extension" | "sourcedConfig" | "clusterProxy" | "releases" | "bundle">;

/**
 * Returns the proxy variables for the Deployments of an extension:
 *
 * | spec.config sets one | the cluster's proxy | deployed release                | variables               |
 * | yes                  | any                 | any                             | none                    |
 * | no                   | unknown             | any                             | its current ones        |
 * | no                   | known, or none      | the same bundle, adopted        | its current ones: none  |
 * | no                   | known, or none      | any other                       | the cluster's proxy     |
 *
 * An adopted release does not change until it is upgraded, because its Pods should not be replaced only to add a proxy.
 */
export function chooseProxyVariables(inputs: ProxyInputs): ProxyVariables | undefined {
  const { clusterProxy } = inputs;
  if (overridesProxy(getConfiguration(inputs))) return undefined;
  if (clusterProxy.kind === "unknown" || isAdopted(inputs)) return findLastDeployed(inputs.releases.history.current)?.proxy;
  return clusterProxy.kind === "known" ? clusterProxy.variables : undefined;
}

/** Returns why Deployments do not use the cluster proxy; undefined if they use it or must not use it. */
export function describeProxyMismatch(inputs: ProxyInputs): string | undefined {
  const { clusterProxy } = inputs;
  if (clusterProxy.kind === "none" || overridesProxy(getConfiguration(inputs))) return undefined;
  if (clusterProxy.kind === "known")
    return isAdopted(inputs)
      ? "the adopted Deployments have no proxy variables; the next upgrade adds the proxy variables of the cluster"
      : undefined;
  return `the cluster proxy is unknown (${clusterProxy.reason}): existing Deployments keep their proxy variables, new Deployments get none`;
}

function isAdopted(inputs: ProxyInputs): boolean {
  const base = findLastDeployed(inputs.releases.history.current);
  if (!base || !isInstalled(inputs)) return false;
  return isOfAnotherWriter(base) || base.takenOver === true;
}

/** Lists the variables that differ, without values, which may contain passwords; undefined if none differs. */
export function describeProxyChange(before: ProxyVariables = {}, after: ProxyVariables = {}): string | undefined {
  const changes = PROXY_NAMES.flatMap((name) => {
    const [from, to] = [before[name], after[name]];
    if (from === to) return [];
    return [`${name} ${from === undefined ? "set" : to === undefined ? "removed" : "changed"}`];
  });
  return changes.length === 0 ? undefined : changes.join(", ");
}
