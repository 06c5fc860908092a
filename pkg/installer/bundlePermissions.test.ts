import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { type BundlePermissions, diffPermissions, formatPermissionsDiff, mergeRules } from "./bundlePermissions.ts";

const NOTHING = { clusterRules: [], namespaceRules: new Map<string, never>(), unknownKinds: [] };

/** Returns the permissions for a bundle with one CRD of these versions, of which the last is stored. */
function rights(version: string, ...versions: string[]): BundlePermissions {
  const crd: KubeObject = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "as.example.com" },
    spec: { versions: versions.map((name, i) => ({ name, served: true, storage: i === versions.length - 1 })) },
  };
  const installer = { namespace: "a", name: "installer" };
  return { name: `a.v${version}`, installer, needed: NOTHING, given: NOTHING, userRoles: [], version, objects: [crd] };
}

const OLD = rights("1.9.0", "v1alpha1", "v1");
const NEW = rights("1.10.0", "v1");

// S0-048: a stored version must be removed from the CRD's status before it can be removed from the spec
test("mergeRules permits patching the CRD status when one of the bundles lacks a stored version, in any order of bundles", () => {
  const right = {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions/status"],
    resourceNames: ["as.example.com"],
    verbs: ["patch"],
  };
  expect(mergeRules([NEW, OLD]).clusterRules).toEqual([right]);
  expect(mergeRules([OLD, NEW]).clusterRules).toEqual([right]);
  expect(mergeRules([NEW]).clusterRules).toEqual([]);
});

test("diffPermissions lists patching the CRD status for an upgrade that removes a stored version, but not for the same bundle", () => {
  const line =
    'Namespace:"" APIGroups:[apiextensions.k8s.io] Resources:[customresourcedefinitions/status] ResourceNames:[as.example.com] Verbs:[patch]';
  expect(formatPermissionsDiff(diffPermissions([OLD], [NEW]))).toContain(`installer):\n  + ${line}\n`);
  expect(formatPermissionsDiff(diffPermissions([OLD], [OLD]))).toContain("installer):\n  no change\n");
});
