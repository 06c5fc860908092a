import { describe, expect, test } from "vitest";
import { type BundleParts, bundleOf, createCrd } from "../../test/support/bundleFixture.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { certManager, serviceCa } from "../certificates/providers.ts";
import { encodeGoJson } from "../golang/json.ts";
import { type RenderOptions, renderBundle } from "./render.ts";

const render = (parts: BundleParts, options: Partial<RenderOptions> = {}) =>
  renderBundle(bundleOf(parts), { installNamespace: "ns", ...options });
const ids = (objects: readonly KubeObject[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? "-"}/${metadata.name}`);
const specOf = (object: KubeObject | undefined) => (object?.["spec"] ?? {}) as JsonObject;
const webhookOf = (object: KubeObject | undefined) => ((object?.["webhooks"] ?? []) as JsonObject[])[0];
const ofKind = (objects: readonly KubeObject[], kind: string) => objects.filter((object) => object.kind === kind);

const rule = { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"] };
const deployment = (name: string, pod: JsonObject = { containers: [{ name: "c" }] }): JsonObject => ({
  name,
  label: { app: name },
  spec: { selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec: pod } },
});
const webhook = (type: string, generateName: string, more: JsonObject = {}): JsonObject => ({
  type: `${type}Webhook`,
  generateName,
  deploymentName: "my.dep",
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  ...more,
});

describe("renderBundle errors, in this order", () => {
  const everything: BundleParts = {
    modes: ["MultiNamespace"],
    packageName: "",
    ownedApiServices: [{ name: "a" }],
    webhooks: [webhook("MutatingAdmission", "m")],
  };
  const withoutApis: BundleParts = { ...everything, ownedApiServices: [] };
  const withoutWebhooks: BundleParts = { ...withoutApis, webhooks: [] };

  test.for<[parts: BundleParts, options: Partial<RenderOptions>, error: string]>([
    [everything, { ownedApiServices: false }, "unsupported bundle: apiServiceDefintions are not supported"],
    [everything, {}, "unsupported bundle: apiServiceDefintions are not supported: certificate provider is nil"],
    [withoutApis, {}, "unsupported bundle: webhookDefinitions are not supported: certificate provider is nil"],
    [withoutWebhooks, { singleOwnNamespace: false }, "unsupported bundle: bundle does not support AllNamespaces install mode"],
    [
      withoutWebhooks,
      { extendedConfig: false },
      "unsupported bundle: bundle must support at least one of [AllNamespaces SingleNamespace OwnNamespace] install modes",
    ],
    [{ packageName: "", others: [{ kind: "Pod" }] }, {}, 'package name is empty\nunsupported resource "" with kind "Pod"'],
  ])("%#", ([parts, options, error]) => {
    expect(() => render(parts, options)).toThrow(expect.objectContaining({ message: error, reason: "Retrying", retry: true }));
  });

  test("renderBundle validates the configuration before the bundle", () => {
    const fault = 'invalid ClusterExtension configuration: invalid configuration: required field "watchNamespace" is missing';
    expect(() => render({ modes: ["OwnNamespace"], packageName: "" })).toThrow(
      expect.objectContaining({ message: fault, reason: "InvalidConfiguration" }),
    );
  });

  test("renderBundle validates a configuration only if it exists when the single- and own-namespace feature is disabled", () => {
    expect(render({ modes: ["AllNamespaces"] }, { singleOwnNamespace: false })).toEqual([]);
    expect(() => render({ modes: ["AllNamespaces"] }, { singleOwnNamespace: false, config: { a: 1 } })).toThrow('unknown field "a"');
  });
});

describe("permissions", () => {
  const parts: BundleParts = {
    modes: ["AllNamespaces", "OwnNamespace", "SingleNamespace"],
    permissions: [{ serviceAccountName: "sa", rules: [rule] }, { rules: [] }],
    clusterPermissions: [{ serviceAccountName: "sa", rules: [rule] }, { serviceAccountName: "other" }],
  };

  test("renderBundle renders permissions as Roles in the watched namespace, bound to the ServiceAccount in the install namespace", () => {
    const objects = render(parts, { config: { watchNamespace: "watched" } });
    expect(ids(objects).map((id) => id.replace(/-[a-z0-9]{43,}$/, "-H"))).toEqual([
      "ServiceAccount ns/other",
      "ServiceAccount ns/sa",
      "Role watched/a.v1.0.0-sa-H",
      "RoleBinding watched/a.v1.0.0-sa-H",
      "Role watched/a.v1.0.0-default-H",
      "RoleBinding watched/a.v1.0.0-default-H",
      "ClusterRole -/a.v1.0.0-sa-H",
      "ClusterRoleBinding -/a.v1.0.0-sa-H",
      "ClusterRole -/a.v1.0.0-other-H",
      "ClusterRoleBinding -/a.v1.0.0-other-H",
    ]);
    const [role, emptyRole] = ofKind(objects, "Role");
    const [binding] = ofKind(objects, "RoleBinding");
    expect(role?.["rules"]).toEqual([rule]);
    expect(emptyRole?.["rules"]).toEqual([]);
    expect(ofKind(objects, "ClusterRole")[1]?.["rules"]).toBeNull();
    expect(binding).toEqual({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: role?.metadata,
      subjects: [{ kind: "ServiceAccount", name: "sa", namespace: "ns" }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: role?.metadata.name },
    });
  });

  test("renderBundle renders permissions as Roles in each watched namespace, sorted", () => {
    const several: BundleParts = { ...parts, modes: ["MultiNamespace"], permissions: [{ serviceAccountName: "sa", rules: [rule] }] };
    const objects = render(several, { config: { watchNamespaces: ["zone", "area"] } });
    expect(ofKind(objects, "Role").map(({ metadata }) => metadata.namespace)).toEqual(["area", "zone"]);
    expect(ofKind(objects, "RoleBinding").map(({ metadata }) => metadata.namespace)).toEqual(["area", "zone"]);
    expect(new Set(ofKind(objects, "Role").map(({ metadata }) => metadata.name)).size).toBe(1);
    expect(render(several, { config: { watchNamespaces: ["area", "zone"] } })).toEqual(objects);
  });

  test("renderBundle renders permissions as ClusterRoles with permission to read namespaces if all namespaces are watched", () => {
    const objects = render(parts);
    expect(ofKind(objects, "Role")).toEqual([]);
    const [cluster, , promoted] = ofKind(objects, "ClusterRole");
    expect(promoted?.["rules"]).toEqual([rule, { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["namespaces"] }]);
    expect(promoted?.metadata.name).not.toBe(cluster?.metadata.name);
  });

  test("renderBundle computes names of roles from Go's JSON of the permission, so member order does not matter", () => {
    const one = render({ clusterPermissions: [{ serviceAccountName: "sa", rules: [rule] }] });
    const two = render({
      clusterPermissions: [{ rules: [{ verbs: ["get"], resources: ["deployments"], apiGroups: ["apps"] }], serviceAccountName: "sa" }],
    });
    expect(ids(one)).toEqual(ids(two));
  });
});

describe("other manifests", () => {
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s", namespace: "placeholder", creationTimestamp: null },
    status: { loadBalancer: {} },
  };
  const clusterRole = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "r", namespace: "left" } };

  test("renderBundle changes only the namespace of other manifests", () => {
    const bare = { apiVersion: "v1", kind: "Secret" };
    expect(render({ others: [service, clusterRole, bare] })).toEqual([
      { ...service, metadata: { ...service.metadata, namespace: "ns" } },
      clusterRole,
      { ...bare, metadata: { namespace: "ns" } },
    ]);
  });

  test("renderBundle does not change the bundle", () => {
    const bundle = bundleOf({ others: [service], deployments: [deployment("my.dep")], webhooks: [webhook("MutatingAdmission", "m")] });
    const before = encodeGoJson(bundle);
    const options = {
      installNamespace: "ns",
      certProvider: certManager,
      config: { deploymentConfig: { env: [{ name: "A" }], nodeSelector: {} } },
    };
    const first = encodeGoJson(renderBundle(bundle, options), { sortKeys: false });
    expect(encodeGoJson(renderBundle(bundle, options), { sortKeys: false })).toBe(first);
    expect(encodeGoJson(bundle)).toBe(before);
  });
});

test("renderBundle adds the annotations of the CSV and the watched namespaces to a Deployment", () => {
  const own = { "olm.targetNamespaces": "wrong", a: "template" };
  const spec = {
    replicas: 2,
    revisionHistoryLimit: 10,
    template: { metadata: { annotations: own }, spec: { containers: [{ name: "c" }] } },
  };
  const parts: BundleParts = {
    modes: ["OwnNamespace"],
    annotations: { a: "csv", "alm-examples": "[]" },
    deployments: [{ name: "d", label: { b: "2", a: "1" }, spec }],
  };
  expect(render(parts, { config: { watchNamespace: "ns" } })).toEqual([
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d", namespace: "ns", labels: { a: "1", b: "2" } },
      spec: {
        replicas: 2,
        revisionHistoryLimit: 1,
        selector: null,
        strategy: {},
        template: {
          metadata: { annotations: { a: "template", "alm-examples": "[]", "olm.operatorNamespace": "ns", "olm.targetNamespaces": "ns" } },
          spec: { containers: [{ name: "c", resources: {} }] },
        },
      },
      status: {},
    },
  ]);
});

describe("webhooks", () => {
  const parts: BundleParts = {
    modes: ["AllNamespaces", "SingleNamespace"],
    deployments: [deployment("other"), deployment("my.dep")],
    webhooks: [
      webhook("ValidatingAdmission", "v.x", {
        containerPort: 9443,
        targetPort: "https",
        webhookPath: "/v",
        timeoutSeconds: 5,
        reinvocationPolicy: "Never",
      }),
      webhook("MutatingAdmission", "m.x", { containerPort: 443, reinvocationPolicy: "IfNeeded", objectSelector: {} }),
      webhook("MutatingAdmission", "n.x", { targetPort: 443 }),
    ],
  };

  test("renderBundle renders webhooks for cert-manager", () => {
    const objects = render(parts, { certProvider: certManager });
    expect(ids(objects)).toEqual([
      "Deployment ns/other",
      "Deployment ns/my.dep",
      "ValidatingWebhookConfiguration ns/v.x",
      "MutatingWebhookConfiguration ns/m.x",
      "MutatingWebhookConfiguration ns/n.x",
      "Service ns/my-dep-service",
      "Issuer ns/my-dep-service-cert-selfsigned-issuer",
      "Certificate ns/my-dep-service-cert",
    ]);
    expect(ofKind(objects, "ValidatingWebhookConfiguration")).toEqual([
      {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
        metadata: { name: "v.x", namespace: "ns", annotations: { "cert-manager.io/inject-ca-from": "ns/my-dep-service-cert" } },
        webhooks: [
          {
            name: "v.x",
            clientConfig: { service: { namespace: "ns", name: "my-dep-service", path: "/v", port: 9443 } },
            sideEffects: "None",
            timeoutSeconds: 5,
            admissionReviewVersions: ["v1"],
          },
        ],
      },
    ]);
    const [mutating, portless] = ofKind(objects, "MutatingWebhookConfiguration").map(webhookOf);
    expect(mutating).toMatchObject({ reinvocationPolicy: "IfNeeded", objectSelector: {} });
    expect(portless?.["clientConfig"]).toEqual({ service: { namespace: "ns", name: "my-dep-service", port: 0 } });
    expect(ofKind(objects, "Service")).toEqual([
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "my-dep-service", namespace: "ns" },
        spec: {
          ports: [
            { name: "443", port: 443, targetPort: 443 },
            { name: "9443", port: 9443, targetPort: "https" },
          ],
          selector: { app: "my.dep" },
        },
        status: { loadBalancer: {} },
      },
    ]);
    expect(specOf(ofKind(objects, "Certificate")[0])).toEqual({
      commonName: "my-dep-service.ns",
      dnsNames: ["my-dep-service.ns", "my-dep-service.ns.svc", "my-dep-service.ns.svc.cluster.local"],
      duration: "17520h0m0s",
      issuerRef: { name: "my-dep-service-cert-selfsigned-issuer" },
      renewBefore: "24h0m0s",
      secretName: "my-dep-service-cert",
      usages: ["server auth"],
    });
  });

  test("renderBundle renders webhooks for the OpenShift service CA", () => {
    const objects = render(parts, { certProvider: serviceCa });
    expect(ofKind(objects, "Issuer")).toEqual([]);
    expect(ofKind(objects, "Service")[0]?.metadata.annotations).toEqual({
      "service.beta.openshift.io/serving-cert-secret-name": "my-dep-service-cert",
    });
    for (const kind of ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]) {
      expect(ofKind(objects, kind)[0]?.metadata.annotations).toEqual({ "service.beta.openshift.io/inject-cabundle": "true" });
    }
  });

  test("renderBundle limits webhooks to the watched namespace", () => {
    const objects = render(parts, { certProvider: certManager, config: { watchNamespace: "watched" } });
    expect(webhookOf(ofKind(objects, "ValidatingWebhookConfiguration")[0])?.["namespaceSelector"]).toEqual({
      matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "In", values: ["watched"] }],
    });
  });

  test("renderBundle replaces mounts at both certificate paths in each container of a Deployment that serves webhooks", () => {
    const pod = {
      volumes: [{ name: "mine", emptyDir: {} }, { name: "kept" }, { name: "webhook-cert" }],
      initContainers: [{ name: "i", volumeMounts: [{ name: "mine", mountPath: "/i" }] }],
      containers: [
        { name: "a", volumeMounts: [{ name: "mine", mountPath: "/tmp/k8s-webhook-server/serving-certs" }] },
        {
          name: "b",
          volumeMounts: [
            { name: "mine", mountPath: "/elsewhere" },
            { name: "kept", mountPath: "/kept" },
          ],
        },
      ],
    };
    const objects = render({ ...parts, deployments: [deployment("my.dep", pod)] }, { certProvider: certManager });
    const { template } = specOf(ofKind(objects, "Deployment")[0]) as { template: { spec: JsonObject & { containers: JsonObject[] } } };
    const secret = (crt: string, key: string) => ({
      secretName: "my-dep-service-cert",
      items: [
        { key: "tls.crt", path: crt },
        { key: "tls.key", path: key },
      ],
    });
    const mounts = [
      { name: "webhook-cert", mountPath: "/tmp/k8s-webhook-server/serving-certs" },
      { name: "apiservice-cert", mountPath: "/apiserver.local.config/certificates" },
    ];
    expect(template.spec["volumes"]).toEqual([
      { name: "kept" },
      { name: "webhook-cert", secret: secret("tls.crt", "tls.key") },
      { name: "apiservice-cert", secret: secret("apiserver.crt", "apiserver.key") },
    ]);
    expect(template.spec.containers.map(({ volumeMounts }) => volumeMounts)).toEqual([
      mounts,
      [{ name: "kept", mountPath: "/kept" }, ...mounts],
    ]);
    expect(template.spec["initContainers"]).toEqual([{ name: "i", resources: {}, volumeMounts: [{ name: "mine", mountPath: "/i" }] }]);
  });
});

describe("CRDs with a conversion webhook", () => {
  const conversion = (more: JsonObject = {}) => webhook("Conversion", "c", { conversionCRDs: ["as.b"], containerPort: 443, ...more });
  const parts: BundleParts = {
    deployments: [deployment("my.dep")],
    owned: ["as.b"],
    crds: [createCrd("as.b", { scope: "Namespaced" }), createCrd("cs.b")],
  };

  test("renderBundle adds the conversion webhook to the CRD", () => {
    const [converted, plain] = ofKind(
      render({ ...parts, webhooks: [conversion()] }, { certProvider: certManager }),
      "CustomResourceDefinition",
    );
    expect(converted?.metadata.annotations).toEqual({ "cert-manager.io/inject-ca-from": "ns/my-dep-service-cert" });
    expect(specOf(converted)["conversion"]).toEqual({
      strategy: "Webhook",
      webhook: {
        clientConfig: { service: { namespace: "ns", name: "my-dep-service", path: "/", port: 443 } },
        conversionReviewVersions: ["v1"],
      },
    });
    expect(plain).toEqual({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "cs.b" },
      spec: { group: "", names: { plural: "", kind: "" }, scope: "", versions: null },
      status: { conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: null },
    });
  });

  test("renderBundle rejects a CRD that preserves unknown fields", () => {
    const crds = [createCrd("as.b", { preserveUnknownFields: true })];
    expect(() => render({ ...parts, crds, webhooks: [conversion()] }, { certProvider: certManager })).toThrow(
      "custom resource definition 'as.b' must have .spec.preserveUnknownFields set to false to let API Server call webhook to do the conversion",
    );
  });
});
