import { expect, test } from "vitest";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { type IgnoreRule, preserveIgnored } from "./drift.ts";

const OURS = "olm.operatorframework.io";
const owned = (manager: string, fieldsV1: JsonObject): JsonObject => ({ manager, operation: "Apply", fieldsV1 });
const deployment = (spec: JsonObject, metadata: JsonObject = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", namespace: "ns", ...metadata },
  spec,
});
const rule = (paths: string[], target: Partial<IgnoreRule["target"]> = {}): IgnoreRule => ({
  paths,
  target: { kind: "Deployment", ...target },
});
const REPLICAS = { "f:spec": { "f:replicas": {} } };

// Source: O-16.
test.for<[name: string, live: KubeObject | undefined, rules: IgnoreRule[], want: JsonObject]>([
  ["preserveIgnored changes nothing when the object does not exist", undefined, [rule(["/spec/replicas"])], { replicas: 1, paused: true }],
  [
    "preserveIgnored omits a field that another manager owns",
    deployment({ replicas: 3 }, { managedFields: [owned("hpa", REPLICAS), owned(OURS, REPLICAS)] }),
    [rule(["/spec/replicas"])],
    { paused: true },
  ],
  [
    "preserveIgnored keeps the live value of a field that only we own, because an apply without it would remove it",
    deployment({ replicas: 3 }, { managedFields: [owned(OURS, REPLICAS)] }),
    [rule(["/spec/replicas"])],
    { replicas: 3, paused: true },
  ],
  ["preserveIgnored omits a field that no longer exists", deployment({}), [rule(["/spec/replicas"])], { paused: true }],
  [
    "preserveIgnored changes nothing when a path does not exist",
    deployment({ replicas: 3 }),
    [rule(["/spec/other/field"])],
    { replicas: 1, paused: true },
  ],
  [
    "preserveIgnored checks each member of an object separately",
    deployment({ replicas: 3, paused: false }, { managedFields: [owned("hpa", REPLICAS), owned(OURS, { "f:spec": { "f:paused": {} } })] }),
    [rule(["/spec"])],
    { paused: false },
  ],
  [
    "preserveIgnored skips a rule for another group",
    deployment({ replicas: 3 }),
    [rule(["/spec/replicas"], { group: "" })],
    { replicas: 1, paused: true },
  ],
  [
    "preserveIgnored skips a rule for another namespace",
    deployment({}),
    [rule(["/spec/replicas"], { namespace: "other" })],
    { replicas: 1, paused: true },
  ],
  [
    "preserveIgnored skips a rule for another name",
    deployment({}),
    [rule(["/spec/replicas"], { name: "e" })],
    { replicas: 1, paused: true },
  ],
  [
    "preserveIgnored skips a rule for another kind",
    deployment({}),
    [rule(["/spec/replicas"], { kind: "StatefulSet" })],
    { replicas: 1, paused: true },
  ],
  [
    "preserveIgnored applies a rule when all of its target matches",
    deployment({}),
    [rule(["/spec/replicas"], { group: "apps", namespace: "ns", name: "d" })],
    { paused: true },
  ],
])("%s", ([, live, rules, want]) => {
  const object = deployment({ replicas: 1, paused: true });
  expect(preserveIgnored(object, live, rules)["spec"]).toEqual(want);
  expect(object).toEqual(deployment({ replicas: 1, paused: true }));
});

test("preserveIgnored finds a list entry by its name when the live object has it at another index", () => {
  const object = deployment({ containers: [{ name: "manager", image: "i:1" }] });
  const live = deployment({
    containers: [
      { name: "sidecar", image: "s:1" },
      { name: "manager", image: "i:2" },
    ],
  });
  expect(preserveIgnored(object, live, [rule(["/spec/containers/0/image"])])["spec"]).toEqual({
    containers: [{ name: "manager", image: "i:2" }],
  });
});

test("preserveIgnored keeps annotations with a slash in their name", () => {
  const object = deployment({}, { annotations: { "example.com/team": "a", other: "b" } });
  const applied = preserveIgnored(object, deployment({}), [rule(["/metadata/annotations/example.com~1team"])]);
  expect(applied.metadata.annotations).toEqual({ other: "b" });
});

// Source: D-31 (CA injection).
test("preserveIgnored keeps injected certificates even without a rule, and keeps the bundle's placeholders when nothing was injected", () => {
  const webhooks = (caBundle: string): JsonObject => ({ webhooks: [{ name: "w", clientConfig: { caBundle, url: "https://w" } }] });
  const hook = (members: JsonObject, managedFields: JsonObject[] = []): KubeObject => ({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "h", managedFields },
    ...members,
  });
  const injector = owned("ca-injector", { "f:webhooks": { 'k:{"name":"w"}': { "f:clientConfig": { "f:caBundle": {} } } } });
  const injected = preserveIgnored(hook(webhooks("Cg==")), hook(webhooks("PEM"), [injector]), []);
  expect(injected["webhooks"]).toEqual([{ name: "w", clientConfig: { url: "https://w" } }]);
  expect(preserveIgnored(hook(webhooks("Cg==")), hook(webhooks("Cg==")), [])).toEqual(hook(webhooks("Cg==")));
  expect(preserveIgnored(hook(webhooks("Cg==")), undefined, [])).toEqual(hook(webhooks("Cg==")));
  const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "c" } };
  const conversion = (caBundle: string): JsonObject => ({ spec: { conversion: { webhook: { clientConfig: { caBundle } } } } });
  expect(preserveIgnored({ ...crd, ...conversion("Cg==") }, { ...crd, ...conversion("PEM") }, [])).toEqual({
    ...crd,
    ...conversion("PEM"),
  });
});

// Source: S0-090.
test("preserveIgnored keeps only the certificate authorities that OpenShift injected into a ConfigMap", () => {
  const bundled = (label: string, data: JsonObject, metadata: JsonObject = {}): KubeObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "m", namespace: "ns", labels: { "config.openshift.io/inject-trusted-cabundle": label }, ...metadata },
    data,
  });
  const placeholder = { "ca-bundle.crt": "", other: "a" };
  const live = bundled(
    "true",
    { "ca-bundle.crt": "CA", other: "b" },
    { managedFields: [owned("cno", { "f:data": { "f:ca-bundle.crt": {} } })] },
  );
  expect(preserveIgnored(bundled("true", placeholder), live, [])["data"]).toEqual({ other: "a" });
  expect(preserveIgnored(bundled("false", placeholder), live, [])["data"]).toEqual(placeholder);
  expect(preserveIgnored(bundled("true", placeholder), undefined, [])["data"]).toEqual(placeholder);
});
