import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import {
  CLUSTER_IMAGE_POLICY,
  IMAGE_POLICY,
  type ImagePolicyProblem,
  type ScopedRequirements,
  toImagePolicies,
} from "../oci/policy/imagePolicies.ts";
import { formatList } from "../text/lists.ts";
import { type ClusterSnapshot, type DoctorFinding, reportOn } from "./clusterSnapshot.ts";
import { readAnswer, type SnapshotPart } from "./snapshotPart.ts";

/** The image policies of OpenShift; undefined if the cluster does not serve a kind. */
export interface ImagePolicySnapshot {
  readonly cluster: SnapshotPart<readonly KubeObject[] | undefined>;
  readonly namespaced: SnapshotPart<readonly KubeObject[] | undefined>;
  /** The ClusterRoleBindings of config/openshift that let the servers read these objects, by name. */
  readonly readers: ReadonlyMap<string, SnapshotPart<KubeObject | undefined>>;
}

const CHECK = "image policies";
const CLUSTER_READER = "olmv1-cluster-image-policies-reader";
const NAMESPACED_READER = "olmv1-image-policies-reader";
const SCOPES_LISTED_MAX = 10;
const OBJECTS_LISTED_MAX = 50;

/** Reads the image policies of OpenShift. */
export async function readImagePolicies(client: Client, signal: AbortSignal): Promise<ImagePolicySnapshot> {
  const list = (gvk: typeof CLUSTER_IMAGE_POLICY | typeof IMAGE_POLICY): Promise<SnapshotPart<readonly KubeObject[] | undefined>> =>
    readAnswer(async () => (await client.list(gvk, { signal })).items, undefined);
  const readers = [CLUSTER_READER, NAMESPACED_READER].map(async (name) => {
    const ref: ObjectRef = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", name };
    return [name, await readAnswer(() => client.get(ref, { signal }), undefined)] as const;
  });
  const [cluster, namespaced] = await Promise.all([list(CLUSTER_IMAGE_POLICY), list(IMAGE_POLICY)]);
  return { cluster, namespaced, readers: new Map(await Promise.all(readers)) };
}

/** Lists the image policies that apply to pulls of the servers, those that cannot be used, and whether the servers may read them. */
export function checkImagePolicies({ imagePolicies }: Pick<ClusterSnapshot, "imagePolicies">): DoctorFinding[] {
  const { cluster, namespaced, readers } = imagePolicies;
  const parts = [cluster, namespaced, ...readers.values()];
  const refused = parts.find((part) => "refused" in part);
  if (refused) return reportOn(CHECK, refused, () => []);
  const [all, own] = [valueOf(cluster), valueOf(namespaced)];
  const policies = toImagePolicies(all ?? [], own ?? []);
  return [
    ...(all ? checkReader(CLUSTER_READER, CLUSTER_IMAGE_POLICY.kind, readers) : []),
    ...(own ? checkReader(NAMESPACED_READER, IMAGE_POLICY.kind, readers) : []),
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

function valueOf<T>(part: SnapshotPart<T>): T | undefined {
  return "value" in part ? part.value : undefined;
}

/** The servers reject every image if they cannot read a kind that the cluster serves. */
function checkReader(name: string, kind: string, readers: ImagePolicySnapshot["readers"]): DoctorFinding[] {
  const reader = readers.get(name);
  if (reader && valueOf(reader)) return [];
  const message = `the servers cannot read ${kind} objects, so they reject every image: ClusterRoleBinding ${name} does not exist`;
  return [{ check: CHECK, status: "problem", message, next: "kubectl apply -k config/openshift, or set openshift.enabled of the chart" }];
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
