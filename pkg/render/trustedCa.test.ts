import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import type { JsonObject } from "../api/k8s.ts";
import { renderBundle } from "./render.ts";

const container = { template: { metadata: {}, spec: { containers: [{ name: "c" }] } } };
const made = (config: JsonObject, others: readonly JsonObject[] = [], extendedConfig = true) =>
  renderBundle(bundleOf({ deployments: [{ name: "d", spec: container }], others }), { installNamespace: "ns", config, extendedConfig });
const trustedCA = (configMapName: string, create?: boolean): JsonObject => ({
  trustedCA: { configMapName, ...(create === undefined ? {} : { create }) },
});

// Source: S0-090, Register A (config.openshift.io/inject-trusted-cabundle).
test("a ConfigMap that is to be made is one of the objects, once, labelled for OpenShift and without data", () => {
  const selector = { matchLabels: { a: "b" } };
  const deploymentConfigs = [
    { selector, ...trustedCA("ca", true) },
    { selector, ...trustedCA("other", true) },
    { selector, ...trustedCA("third") },
  ];
  const objects = made({ deploymentConfig: trustedCA("ca", true), deploymentConfigs });
  const labels = { "config.openshift.io/inject-trusted-cabundle": "true" };
  expect(objects.filter(({ kind }) => kind === "ConfigMap")).toEqual([
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ca", namespace: "ns", labels } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "other", namespace: "ns", labels } },
  ]);
});

test.for([undefined, false])("one that is there already (create: %s) is none of them", (create) => {
  expect(made({ deploymentConfig: trustedCA("ca", create) }).map(({ kind }) => kind)).toEqual(["Deployment"]);
});

test.for<[why: string, config: JsonObject, error: string]>([
  ["a name that no ConfigMap can have", trustedCA("My_CA"), 'field "deploymentConfig.trustedCA.configMapName" must match pattern'],
  ["no name", { trustedCA: { create: true } }, 'invalid configuration: required field "configMapName" is missing'],
  ["another member", { trustedCA: { configMapName: "ca", key: "x" } }, 'unknown field "key"'],
  [
    "a mount of the user's at the same place",
    { ...trustedCA("ca"), volumeMounts: [{ name: "v", mountPath: "/etc/pki/ca-trust/extracted/pem" }] },
    'invalid value for field "deploymentConfig.trustedCA": volumeMounts mounts something at "/etc/pki/ca-trust/extracted/pem", where trustedCA mounts the certificate authorities: leave one out',
  ],
])("%s is refused", ([, deploymentConfig, error]) => {
  expect(() => made({ deploymentConfig })).toThrow(error);
});

test("a ConfigMap that the bundle brings itself is not made, and that is said", () => {
  const brought = [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ca" } }];
  expect(() => made({ deploymentConfig: trustedCA("ca", true) }, brought)).toThrow(
    'the bundle brings ConfigMap "ca" itself: set trustedCA.create to false, or name another',
  );
  expect(made({ deploymentConfig: trustedCA("ca") }, brought)).toHaveLength(2);
});

test("where only what the Go implementation knows counts, it is refused as there", () => {
  expect(() => made({ deploymentConfig: trustedCA("ca") }, [], false)).toThrow('invalid configuration: unknown field "trustedCA"');
});
