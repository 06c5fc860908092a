import { buildCrd, KINDS } from "../api/customResourceDefinitions.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { ClusterSnapshot, DoctorFinding } from "./clusterSnapshot.ts";
import { checkImagePolicies } from "./imagePolicies.ts";
import { checkApiServer, checkCatalogs, checkDefinitions, checkMetrics, checkPolicies } from "./installation.ts";
import { checkObjectSets } from "./objectSets.ts";
import { collectOtherFindings, isOtherImplementation } from "./otherImplementation.ts";
import { checkPermissions } from "./permissions.ts";
import { checkCertificates, checkDeployments, checkLeases } from "./programs.ts";
import { checkRegistries } from "./registries.ts";

/** Returns the findings of all checks; each check comes after the checks that it depends on. @param version of this olmv1. */
export function collectFindings(snapshot: ClusterSnapshot, version: string): DoctorFinding[] {
  const desired = new Map(KINDS.map(buildCrd).map((crd): [string, KubeObject] => [crd.metadata.name, crd]));
  if (isOtherImplementation(snapshot)) return collectOtherFindings(snapshot);
  return [
    ...checkApiServer(snapshot),
    ...checkDefinitions(snapshot, desired),
    ...checkDeployments(snapshot, version),
    ...checkLeases(snapshot),
    ...checkCertificates(snapshot),
    ...checkCatalogs(snapshot),
    ...checkRegistries(snapshot),
    ...checkImagePolicies(snapshot),
    ...checkPolicies(snapshot),
    ...checkPermissions(snapshot),
    ...checkObjectSets(snapshot),
    ...checkMetrics(snapshot),
  ];
}
