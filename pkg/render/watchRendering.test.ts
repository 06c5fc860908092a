import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { selfSigned } from "../certificates/providers.ts";
import { renderBundle } from "./render.ts";

interface ScopeCase extends CaseHead {
  modes: string[];
  config?: JsonObject;
  targets: string;
  roles: string[];
  clusterRoles: number;
  asked: string[] | null;
}

interface Deployment {
  spec: { template: { metadata: { annotations: Record<string, string> } } };
}

interface WebhookConfiguration {
  webhooks: { namespaceSelector?: { matchExpressions: unknown } }[];
}

test.for(loadCases<ScopeCase>("watch-rendering"))("$name", ({ modes, config, targets, roles, clusterRoles, asked }) => {
  const bundle = bundleOf({
    modes,
    permissions: [{ serviceAccountName: "sa", rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] }],
    deployments: [{ name: "d", spec: { template: { spec: { containers: [{ name: "c" }] } } } }],
    webhooks: [
      {
        type: "ValidatingAdmissionWebhook",
        generateName: "v.x",
        deploymentName: "d",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  });
  const objects = renderBundle(bundle, { installNamespace: "ns", config, certProvider: selfSigned });
  const ofKind = (kind: string): KubeObject[] => objects.filter((object) => object.kind === kind);
  const namespacesOf = (kind: string): unknown[] => ofKind(kind).map(({ metadata }) => metadata.namespace);
  const [deployment] = ofKind("Deployment") as unknown as Deployment[];
  expect(deployment?.spec.template.metadata.annotations["olm.targetNamespaces"]).toBe(targets);
  expect([namespacesOf("Role"), namespacesOf("RoleBinding")]).toEqual([roles, roles]);
  expect([ofKind("ClusterRole").length, ofKind("ClusterRoleBinding").length]).toEqual([clusterRoles, clusterRoles]);
  const [configuration] = ofKind("ValidatingWebhookConfiguration") as unknown as WebhookConfiguration[];
  const selected = asked ? { matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: asked }] } : undefined;
  expect(configuration?.webhooks[0]?.namespaceSelector).toEqual(selected);
});
