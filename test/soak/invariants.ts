import { findCondition } from "../../pkg/api/conditions.ts";
import { isInstalled } from "../bench/objectState.ts";
import type { ClusterState } from "./clusterState.ts";
import { getWantedVersion, type SoakPackage } from "./soakPackages.ts";

/** Releases that the controller keeps, and one that it may be writing. */
const RELEASES_MAX = 11;

/**
 * Returns what must never happen, also during faults, a sentence each.
 * @param before an earlier state @param changing names of extensions that the run itself changes between the two states
 */
export function listLosses(
  before: ClusterState,
  after: ClusterState,
  packages: readonly SoakPackage[],
  changing: ReadonlySet<string>,
): string[] {
  const found: string[] = [];
  for (const [what, uid] of before.userData) {
    const now = after.userData.get(what);
    if (now !== uid) found.push(`${what}, data of a user, ${now === undefined ? "does not exist any more" : "was recreated"}`);
  }
  for (const { name } of packages) {
    if (changing.has(name)) continue;
    if (!after.extensions.has(name)) found.push(`ClusterExtension ${name} does not exist`);
    for (const kind of ["deployments", "configMaps"] as const) {
      const [old = [], now = []] = [before[kind].get(name), after[kind].get(name)];
      const uids = now.map(({ metadata }) => metadata.uid);
      if (old.some(({ metadata }) => !uids.includes(metadata.uid))) found.push(`an object of ${name} in ${kind} was deleted or recreated`);
      if (now.length > 1) found.push(`${name} has ${now.length} ${kind}`);
    }
  }
  return found;
}

/** Returns how the cluster differs from the expected state, a sentence each; empty when each extension has converged. */
export function listDifferences(state: ClusterState, packages: readonly SoakPackage[]): string[] {
  return packages.flatMap((one) => {
    const { name } = one;
    const version = getWantedVersion(one);
    const extension = state.extensions.get(name);
    if (extension === undefined) return [`ClusterExtension ${name} does not exist`];
    if (!isInstalled(extension, version)) return [`${name} has not installed ${version}: ${describeProgress(extension)}`];
    return [
      ...(findCondition(extension.status?.conditions, "Ready")?.status === "True" ? [] : [`${name} is not ready`]),
      ...findObjectFaults(state, name, version),
      ...findReleaseFaults(state, name),
    ];
  });
}

function describeProgress(extension: NonNullable<ReturnType<ClusterState["extensions"]["get"]>>): string {
  const { status } = extension;
  const progressing = findCondition(status?.conditions, "Progressing");
  return `installed ${status?.install?.bundle.version ?? "nothing"}, Progressing ${progressing?.status} ${progressing?.reason}: ${progressing?.message}`;
}

/** The status says that `version` is installed and healthy: the objects must be those of the version, one each. */
function findObjectFaults(state: ClusterState, name: string, version: string): string[] {
  const [configMap, ...otherMaps] = state.configMaps.get(name) ?? [];
  const [deployment, ...otherDeployments] = state.deployments.get(name) ?? [];
  const data = configMap?.["data"] as Record<string, string> | undefined;
  const spec = deployment?.["spec"] as { replicas?: number; template: { spec: { containers: { image: string }[] } } } | undefined;
  const status = deployment?.["status"] as { availableReplicas?: number } | undefined;
  const image = spec?.template.spec.containers[0]?.image;
  return [
    ...(otherMaps.length + otherDeployments.length > 0 ? [`${name} has an object twice`] : []),
    ...(data?.["version"] === version && Object.keys(data).length === 2 ? [] : [`ConfigMap ${name} is not that of ${version}`]),
    ...(image?.endsWith(`:v${version}`) && spec?.replicas === 1
      ? []
      : [`Deployment ${name} is not that of ${version}: ${image}, ${spec?.replicas} replicas`]),
    ...(status?.availableReplicas === 1 ? [] : [`Deployment ${name} has no available Pod`]),
  ];
}

function findReleaseFaults(state: ClusterState, name: string): string[] {
  const releases = state.releases.get(name) ?? [];
  const numbers = releases.map(({ number }) => Number(number));
  const deployed = releases.filter(({ status }) => status === "deployed").length;
  const newest = releases.find(({ number }) => Number(number) === Math.max(...numbers));
  return [
    ...(newest?.status === "deployed" ? [] : [`the newest release of ${name} is ${newest?.status ?? "missing"}`]),
    ...(deployed > 1 ? [`${name} has ${deployed} deployed releases`] : []),
    ...(new Set(numbers).size === numbers.length ? [] : [`${name} has a release twice`]),
    ...(numbers.length <= RELEASES_MAX ? [] : [`${name} has ${numbers.length} releases`]),
  ];
}

/** Returns roles and permissions that ServiceAccounts have gained or lost, a sentence each. */
export function listPermissionChanges(before: ClusterState, after: ClusterState): string[] {
  return [
    ...listCountChanges(before.bindings, after.bindings, "role"),
    ...listCountChanges(before.permissions, after.permissions, "permission"),
  ];
}

function listCountChanges(before: readonly string[], after: readonly string[], what: string): string[] {
  const [old, now] = [countEach(before), countEach(after)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((text) => {
    const more = (now.get(text) ?? 0) - (old.get(text) ?? 0);
    return more === 0 ? [] : [`${more > 0 ? "new" : "lost"} ${what}: ${text}`];
  });
}

function countEach(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
