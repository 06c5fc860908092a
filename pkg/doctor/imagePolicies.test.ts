import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { CLUSTER_IMAGE_POLICY, IMAGE_POLICY } from "../oci/policy/imagePolicies.ts";
import { checkImagePolicies } from "./imagePolicies.ts";
import type { ImagePolicySnapshot } from "./imagePolicySnapshot.ts";

const ROOT = { rootOfTrust: { policyType: "PublicKey", publicKey: { keyData: "a2V5" } } };
const BINDING = { value: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "x" } } };
const GRANTED = new Map([
  ["olmv1-cluster-image-policies-reader", BINDING],
  ["olmv1-image-policies-reader", BINDING],
]);
const policy = (name: string, scopes: string[], root: object = ROOT, namespace?: string): KubeObject => ({
  ...(namespace === undefined ? CLUSTER_IMAGE_POLICY : IMAGE_POLICY),
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  spec: { scopes, policy: root },
});

test.for<[what: string, snapshot: Partial<ImagePolicySnapshot>, want: string[]]>([
  [
    "nothing when the cluster does not serve the kinds",
    { cluster: { value: undefined }, namespaced: { value: undefined }, readers: new Map() },
    [],
  ],
  ["nothing without policies", {}, []],
  [
    "each policy with its scopes",
    {
      cluster: { value: [policy("a", ["quay.io", "ghcr.io/ns"])] },
      namespaced: { value: [policy("b", ["docker.io"], ROOT, "team")] },
    },
    [
      'ok: image policies: ClusterImagePolicy "a" requires signatures of quay.io, ghcr.io/ns',
      'ok: image policies: ImagePolicy "team/b" requires signatures of docker.io for extensions in namespace team',
    ],
  ],
  [
    "a policy that cannot be used",
    { cluster: { value: [policy("a", [], { rootOfTrust: { policyType: "Notary" } })] } },
    [
      'problem: ClusterImagePolicy "a": images in its scopes are rejected: policyType "Notary" is not supported → kubectl edit clusterimagepolicy a',
    ],
  ],
  [
    "that the servers cannot read the policies",
    { readers: new Map() },
    ["ClusterImagePolicy", "ImagePolicy"].map(
      (kind) =>
        `problem: image policies: the servers cannot read ${kind} objects, so they reject every image: ClusterRoleBinding olmv1-${kind === "ImagePolicy" ? "" : "cluster-"}image-policies-reader does not exist → use config/openshift in your kustomization.yaml, or set openshift.enabled of the chart`,
    ),
  ],
  [
    "that you may not read the policies",
    { cluster: { refused: "clusterimagepolicies is forbidden" } },
    ["unknown: image policies: cannot check: clusterimagepolicies is forbidden → ask a cluster administrator"],
  ],
])("doctor reports %s", ([, snapshot, want]) => {
  const findings = checkImagePolicies({
    imagePolicies: { cluster: { value: [] }, namespaced: { value: [] }, readers: GRANTED, ...snapshot },
  });
  const shown = findings.map(
    ({ status, check, message, next }) => `${status}: ${check}: ${message}${next === undefined ? "" : ` → ${next}`}`,
  );
  expect(shown).toEqual(want);
});

test("doctor lists at most fifty policies", () => {
  const all = Array.from({ length: 60 }, (_, index) => policy(`p${index}`, [`r${index}.com`]));
  const findings = checkImagePolicies({ imagePolicies: { cluster: { value: all }, namespaced: { value: [] }, readers: GRANTED } });
  expect([findings.length, findings.at(-1)?.message]).toEqual([51, "10 more image policies"]);
});
