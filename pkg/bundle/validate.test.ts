import { expect, test } from "vitest";
import { type BundleParts, bundleOf, crdOf } from "../../test/support/bundleFixture.ts";
import { validateBundle } from "./validate.ts";

const NOT_DNS =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
  "character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const deployment = (name: string) => ({ name, spec: {} });
const webhook = (type: string, generateName: string, more = {}) => ({
  type: `${type}Webhook`,
  generateName,
  deploymentName: "d",
  sideEffects: "None",
  ...more,
});
const d = [deployment("d")];

// Source: operator-controller internal/operator-controller/rukpak/render/registryv1/validators; install specification, bundle validators 1 to 13.
test.for<[name: string, parts: BundleParts, findings: string[]]>([
  ["a sound bundle", { deployments: d, crds: ["as.b"], owned: ["as.b"] }, []],
  [
    "1 deployment names are unique",
    { deployments: ["b", "a", "b", "a", "c", "b"].map(deployment) },
    [
      "cluster service version contains duplicate strategy deployment spec 'a'",
      "cluster service version contains duplicate strategy deployment spec 'b'",
    ],
  ],
  [
    "2 deployment names are DNS subdomains",
    { deployments: [deployment("B_"), deployment("a.b-c"), deployment(""), deployment("x".repeat(254))] },
    [
      `invalid cluster service version strategy deployment name '': ${NOT_DNS}`,
      `invalid cluster service version strategy deployment name 'B_': ${NOT_DNS}`,
      `invalid cluster service version strategy deployment name '${"x".repeat(254)}': must be no more than 253 characters`,
    ],
  ],
  [
    "2 both faults of one name stand together",
    { deployments: [deployment("X".repeat(254))] },
    [`invalid cluster service version strategy deployment name '${"X".repeat(254)}': ${NOT_DNS}, must be no more than 253 characters`],
  ],
  ["3 CRDs are unique", { crds: ["as.b", "cs.b", "as.b"] }, ["bundle contains duplicate custom resource definition 'as.b'"]],
  [
    "4 owned CRDs are in the bundle",
    { crds: ["as.b"], owned: ["zs.b", "as.b", "cs.b", "zs.b"] },
    [
      "cluster service definition references owned custom resource definition 'cs.b' not found in bundle",
      "cluster service definition references owned custom resource definition 'zs.b' not found in bundle",
    ],
  ],
  ["5 the package is named", { packageName: "" }, ["package name is empty"]],
  [
    "6 conversion goes with AllNamespaces only",
    {
      modes: ["SingleNamespace", "AllNamespaces"],
      deployments: d,
      webhooks: [webhook("Conversion", "c"), webhook("ValidatingAdmission", "v")],
    },
    [
      'bundle contains conversion webhook "c" and supports install modes [AllNamespaces SingleNamespace] - conversion webhooks are only supported for ' +
        "bundles that only support AllNamespaces install mode",
    ],
  ],
  [
    "6 nor does it go with no mode at all",
    { modes: [], deployments: d, webhooks: [webhook("Conversion", "c")] },
    [
      'bundle contains conversion webhook "c" and supports install modes [] - conversion webhooks are only supported for bundles that only support ' +
        "AllNamespaces install mode",
    ],
  ],
  ["6 other webhooks go with every mode", { modes: ["OwnNamespace"], deployments: d, webhooks: [webhook("MutatingAdmission", "m")] }, []],
  [
    "7 webhooks have a deployment",
    {
      deployments: d,
      webhooks: [
        webhook("ValidatingAdmission", "z", { deploymentName: "y" }),
        webhook("ValidatingAdmission", "b", { deploymentName: "x" }),
        webhook("ValidatingAdmission", "a", { deploymentName: "x" }),
        webhook("MutatingAdmission", "c", { deploymentName: "x" }),
        webhook("MutatingAdmission", "e", { deploymentName: undefined }),
      ],
    },
    [
      "webhook of type 'MutatingAdmissionWebhook' with name 'e' references non-existent deployment ''",
      "webhook of type 'MutatingAdmissionWebhook' with name 'c' references non-existent deployment 'x'",
      "webhook of type 'ValidatingAdmissionWebhook' with name 'a' references non-existent deployment 'x'",
      "webhook of type 'ValidatingAdmissionWebhook' with name 'b' references non-existent deployment 'x'",
      "webhook of type 'ValidatingAdmissionWebhook' with name 'z' references non-existent deployment 'y'",
    ],
  ],
  [
    "8 webhook names are unique in their type",
    {
      deployments: d,
      webhooks: ["b", "a", "b", "a"].map((name) => webhook("ValidatingAdmission", name)).concat(webhook("MutatingAdmission", "a")),
    },
    ["duplicate webhook 'a' of type 'ValidatingAdmissionWebhook'", "duplicate webhook 'b' of type 'ValidatingAdmissionWebhook'"],
  ],
  [
    "9 webhook names are DNS subdomains, so they do not end in a hyphen",
    {
      deployments: d,
      webhooks: [webhook("ValidatingAdmission", "v-"), webhook("MutatingAdmission", "m-"), webhook("MutatingAdmission", "ok")],
    },
    [
      `webhook of type 'MutatingAdmissionWebhook' has invalid name 'm-': ${NOT_DNS}`,
      `webhook of type 'ValidatingAdmissionWebhook' has invalid name 'v-': ${NOT_DNS}`,
    ],
  ],
  [
    "10 a CRD has one conversion webhook",
    {
      deployments: d,
      crds: ["as.b"],
      owned: ["as.b"],
      webhooks: [webhook("Conversion", "y", { conversionCRDs: ["as.b"] }), webhook("Conversion", "x", { conversionCRDs: ["as.b"] })],
    },
    ["conversion webhooks [x,y] reference same custom resource definition 'as.b'"],
  ],
  [
    "11 conversion webhooks name owned CRDs",
    { deployments: d, crds: ["as.b"], webhooks: [webhook("Conversion", "y", { conversionCRDs: ["b.b", "as.b"] })] },
    [
      "conversion webhook 'y' references custom resource definition 'as.b' not owned bundle",
      "conversion webhook 'y' references custom resource definition 'b.b' not owned bundle",
    ],
  ],
  [
    "12 admission rules leave OLM and admission itself alone",
    {
      deployments: d,
      webhooks: [
        webhook("ValidatingAdmission", "v", {
          rules: [
            { apiGroups: ["", "*", "olm.operatorframework.io"], resources: ["*"] },
            {
              apiGroups: ["admissionregistration.k8s.io"],
              resources: ["*", "MutatingWebhookConfigurations", "validatingwebhookconfiguration", "other"],
            },
          ],
        }),
        webhook("Conversion", "c", { rules: [{ apiGroups: ["*"] }] }),
      ],
    },
    [
      'webhook "v" contains forbidden rule: admission webhook rules cannot reference API group "*"',
      'webhook "v" contains forbidden rule: admission webhook rules cannot reference API group "olm.operatorframework.io"',
      ...["*", "MutatingWebhookConfigurations", "validatingwebhookconfiguration"].map(
        (resource) =>
          `webhook "v" contains forbidden rule: admission webhook rules cannot reference resource "${resource}" for API group "admissionregistration.k8s.io"`,
      ),
    ],
  ],
  [
    "13 other manifests are of supported kinds, whatever their group",
    {
      others: [
        { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "x" } },
        { apiVersion: "any/v1", kind: "Service", metadata: { name: "y" } },
        { apiVersion: "v1", kind: "toString" },
      ],
    },
    ['unsupported resource "x" with kind "Deployment"', 'unsupported resource "" with kind "toString"'],
  ],
  [
    "all checks run and keep their order",
    { packageName: "", crds: [crdOf("as.b"), crdOf("as.b")], owned: ["cs.b"], deployments: [...d, ...d] },
    [
      "cluster service version contains duplicate strategy deployment spec 'd'",
      "bundle contains duplicate custom resource definition 'as.b'",
      "cluster service definition references owned custom resource definition 'cs.b' not found in bundle",
      "package name is empty",
    ],
  ],
])("%s", ([, parts, findings]) => {
  expect(validateBundle(bundleOf(parts))).toEqual(findings);
});
