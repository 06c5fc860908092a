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
test("renderBundle renders one ConfigMap with the OpenShift label and without data for each name in trustedCA with create", () => {
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

test.for([undefined, false])("renderBundle renders no ConfigMap when trustedCA.create is %s", (create) => {
  expect(made({ deploymentConfig: trustedCA("ca", create) }).map(({ kind }) => kind)).toEqual(["Deployment"]);
});

test.for<[why: string, config: JsonObject, error: string]>([
  ["an invalid ConfigMap name", trustedCA("My_CA"), 'field "deploymentConfig.trustedCA.configMapName" must match pattern'],
  ["no name", { trustedCA: { create: true } }, 'invalid configuration: required field "configMapName" is missing'],
  ["another member", { trustedCA: { configMapName: "ca", key: "x" } }, 'unknown field "key"'],
  [
    "a mount of the user at the same path",
    { ...trustedCA("ca"), volumeMounts: [{ name: "v", mountPath: "/etc/pki/ca-trust/extracted/pem" }] },
    'invalid value for field "deploymentConfig.trustedCA": volumeMounts has a mount at "/etc/pki/ca-trust/extracted/pem", where trustedCA mounts the CA certificates: remove one of them',
  ],
])("renderBundle rejects trustedCA with %s", ([, deploymentConfig, error]) => {
  expect(() => made({ deploymentConfig })).toThrow(error);
});

test("renderBundle fails if trustedCA would create a ConfigMap that the bundle contains", () => {
  const bundled = [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "ca" } }];
  expect(() => made({ deploymentConfig: trustedCA("ca", true) }, bundled)).toThrow(
    'the bundle contains ConfigMap "ca": set trustedCA.create to false, or use another name',
  );
  expect(made({ deploymentConfig: trustedCA("ca") }, bundled)).toHaveLength(2);
});

test("renderBundle rejects trustedCA like the Go implementation if the configuration is not extended", () => {
  expect(() => made({ deploymentConfig: trustedCA("ca") }, [], false)).toThrow('invalid configuration: unknown field "trustedCA"');
});
