import { expect, test } from "vitest";
import type { PermissionPolicySpec } from "../api/permissionPolicy.ts";
import { buildCreatedNamespace } from "./createdNamespace.ts";

const ENFORCE = "pod-security.kubernetes.io/enforce";
const WARN = "pod-security.kubernetes.io/warn";
const OWN = { "olm.operatorframework.io/permissions-for": "car" };
const enforcing = (level: string) => ({ labels: { [ENFORCE]: level }, annotations: {} });

interface Case {
  policy: PermissionPolicySpec;
  suggested?: { labels: Record<string, string>; annotations: Record<string, string> };
  labels: Record<string, string>;
  annotations?: Record<string, string>;
}

test.for<[string, Case]>([
  ["level baseline by default", { policy: {}, labels: { [ENFORCE]: "baseline", [WARN]: "restricted" } }],
  ["a stricter level of the bundle", { policy: {}, suggested: enforcing("restricted"), labels: { [ENFORCE]: "restricted" } }],
  [
    "level baseline when the bundle suggests privileged",
    { policy: {}, suggested: enforcing("privileged"), labels: { [ENFORCE]: "baseline" } },
  ],
  [
    "the level of the bundle when the policy grants automatically",
    { policy: { grant: "Automatic" }, suggested: enforcing("privileged"), labels: { [ENFORCE]: "privileged" } },
  ],
  [
    "level baseline when the bundle suggests an unknown level",
    { policy: { grant: "Automatic" }, suggested: enforcing("x"), labels: { [ENFORCE]: "baseline" } },
  ],
  [
    "the level of the policy when it is stricter",
    { policy: { namespaces: { podSecurity: "restricted" } }, suggested: enforcing("baseline"), labels: { [ENFORCE]: "restricted" } },
  ],
  [
    "no label of the bundle when the policy ignores the template",
    {
      policy: { namespaces: { template: "Ignore" } },
      suggested: { labels: { a: "b" }, annotations: { c: "d" } },
      labels: { [ENFORCE]: "baseline", [WARN]: "restricted" },
    },
  ],
  [
    "the labels of the policy before those of the bundle",
    {
      policy: { namespaces: { labels: { a: "policy", [WARN]: "baseline" } } },
      suggested: { labels: { a: "bundle", b: "bundle" }, annotations: { c: "d" } },
      labels: { a: "policy", b: "bundle", [ENFORCE]: "baseline", [WARN]: "baseline" },
      annotations: { c: "d" },
    },
  ],
  [
    "no labels of the bundle with a meaning for Kubernetes or this project",
    {
      policy: {},
      suggested: {
        labels: { "kubernetes.io/metadata.name": "x", "node.kubernetes.io/a": "b", "olm.operatorframework.io/permissions-for": "truck" },
        annotations: { "scheduler.alpha.kubernetes.io/node-selector": "a=b" },
      },
      labels: { [ENFORCE]: "baseline", [WARN]: "restricted" },
      annotations: {},
    },
  ],
  [
    "no labels and annotations of the bundle that weaken the namespace",
    {
      policy: {},
      suggested: {
        labels: {
          [ENFORCE]: "restricted",
          [`${ENFORCE}-version`]: "v1.7",
          "pod-security.kubernetes.io/audit": "restricted",
          "openshift.io/run-level": "0",
          "openshift.io/cluster-monitoring": "true",
          "security.openshift.io/disable-securitycontextconstraints": "true",
          "security.openshift.io/scc.podSecurityLabelSync": "true",
        },
        annotations: {
          "openshift.io/sa.scc.uid-range": "0/10000",
          "openshift.io/sa.scc.mcs": "s0:c1,c2",
          "openshift.io/node-selector": "",
        },
      },
      labels: { [ENFORCE]: "restricted", "pod-security.kubernetes.io/audit": "restricted", "openshift.io/cluster-monitoring": "true" },
      annotations: { "openshift.io/node-selector": "" },
    },
  ],
])("buildCreatedNamespace sets %s", ([, { policy, suggested = { labels: {}, annotations: {} }, labels, annotations }]) => {
  const { metadata } = buildCreatedNamespace("car", "cars", policy, suggested);
  expect(metadata.labels).toEqual({ [WARN]: "restricted", ...labels, ...OWN });
  expect(metadata.annotations).toEqual(annotations);
  expect(metadata.name).toBe("cars");
});
