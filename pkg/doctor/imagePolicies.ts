import {
  CLUSTER_IMAGE_POLICY,
  IMAGE_POLICY,
  type ImagePolicyProblem,
  type ScopedRequirements,
  toImagePolicies,
} from "../oci/policy/imagePolicies.ts";
import { formatList } from "../text/lists.ts";
import { type ClusterSnapshot, type DoctorFinding, reportOn } from "./clusterSnapshot.ts";
import { CLUSTER_POLICIES_READER, IMAGE_POLICIES_READER, type ImagePolicySnapshot } from "./imagePolicySnapshot.ts";
import { getPartValue } from "./snapshotPart.ts";

const CHECK = "image policies";
const GRANT = "use config/openshift in your kustomization.yaml, or set openshift.enabled of the chart";
const SCOPES_LISTED_MAX = 10;
const OBJECTS_LISTED_MAX = 50;

/** Lists the image policies that apply to pulls of the servers, those that cannot be used, and whether the servers may read them. */
export function checkImagePolicies({ imagePolicies }: Pick<ClusterSnapshot, "imagePolicies">): DoctorFinding[] {
  const { cluster, namespaced, readers } = imagePolicies;
  const parts = [cluster, namespaced, ...readers.values()];
  const refused = parts.find((part) => "refused" in part);
  if (refused) return reportOn(CHECK, refused, () => []);
  const [all, own] = [getPartValue(cluster), getPartValue(namespaced)];
  const policies = toImagePolicies(all ?? [], own ?? []);
  return [
    ...(all ? checkReader(CLUSTER_POLICIES_READER, CLUSTER_IMAGE_POLICY.kind, readers) : []),
    ...(own ? checkReader(IMAGE_POLICIES_READER, IMAGE_POLICY.kind, readers) : []),
    ...policies.problems.map(describeProblem),
    ...describeScopes(policies.cluster, ""),
    ...[...policies.byNamespace].flatMap(([namespace, scopes]) => describeScopes(scopes, ` for extensions in namespace ${namespace}`)),
  ];
}

function describeProblem({ origin, message, object }: ImagePolicyProblem): DoctorFinding {
  const { namespace, name } = object.metadata;
  const place = namespace === undefined ? "" : `-n ${namespace} `;
  const next = `kubectl ${place}edit ${object.kind.toLowerCase()} ${name}`;
  return { check: origin, status: "problem", message: `images in its scopes are rejected: ${message}`, next };
}

/** The servers reject every image if they cannot read a kind that the cluster serves. */
function checkReader(name: string, kind: string, readers: ImagePolicySnapshot["readers"]): DoctorFinding[] {
  const reader = readers.get(name);
  if (reader && getPartValue(reader)) return [];
  const message = `the servers cannot read ${kind} objects, so they reject every image: ClusterRoleBinding ${name} does not exist`;
  return [{ check: CHECK, status: "problem", message, next: GRANT }];
}

/** Lists the scopes of each object. */
function describeScopes(scopes: ScopedRequirements, where: string): DoctorFinding[] {
  const entries = [...scopes].flatMap(([scope, requirements]) => requirements.map(({ origin = "" }) => ({ scope, origin })));
  const byOrigin = [...Map.groupBy(entries, ({ origin }) => origin)];
  const findings = byOrigin.slice(0, OBJECTS_LISTED_MAX).map(([origin, own]): DoctorFinding => {
    const listed = formatList(
      own.map(({ scope }) => scope),
      { max: SCOPES_LISTED_MAX },
    );
    return { check: CHECK, status: "ok", message: `${origin} requires signatures of ${listed}${where}` };
  });
  const more = byOrigin.length - findings.length;
  return more > 0 ? [...findings, { check: CHECK, status: "ok", message: `${more} more image policies${where}` }] : findings;
}
