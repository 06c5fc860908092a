import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import type { JsonObject } from "../api/k8s.ts";
import { renderBundle } from "./render.ts";

/** The Deployment of a bundle with one, after the user's configuration. */
function deploymentWith(deploymentConfig: JsonObject, pod: JsonObject, annotations: Record<string, string> = {}) {
  const spec = { template: { metadata: { annotations }, spec: { containers: [{ name: "c" }], ...pod } } };
  const objects = renderBundle(bundleOf({ deployments: [{ name: "d", spec }] }), { installNamespace: "ns", config: { deploymentConfig } });
  const found = objects.find(({ kind }) => kind === "Deployment");
  return found as unknown as {
    metadata: { annotations?: Record<string, string> };
    spec: { template: { metadata: { annotations: Record<string, string> }; spec: JsonObject & { containers: JsonObject[] } } };
  };
}

const podWith = (config: JsonObject, pod: JsonObject = {}) => deploymentWith(config, pod).spec.template.spec;
const containerWith = (config: JsonObject, container: JsonObject) =>
  podWith(config, { containers: [{ name: "c", ...container }] }).containers[0];

const node = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: {} }] } };
const pods = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] } };
const anti = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "host" }] } };

// Source: install specification, deploymentConfig semantics; operator-lifecycle-manager v0.39.0 pkg/controller/operators/olm/overrides/inject.
test.for<[name: string, given: JsonObject, container: JsonObject, want: JsonObject]>([
  [
    "env: same name is replaced in place, new ones are appended even twice",
    {
      env: [
        { name: "B", value: "new" },
        { name: "C", value: "1" },
        { name: "C", value: "2" },
      ],
    },
    { env: [{ name: "A" }, { name: "B", value: "first" }, { name: "B", value: "last" }] },
    {
      env: [
        { name: "A" },
        { name: "B", value: "first" },
        { name: "B", value: "new" },
        { name: "C", value: "1" },
        { name: "C", value: "2" },
      ],
    },
  ],
  [
    "envFrom: what is there is not appended again",
    { envFrom: [{ secretRef: { name: "s" } }, { secretRef: { name: "s", optional: false } }, { configMapRef: { name: "m" } }] },
    { envFrom: [{ secretRef: { name: "s" } }] },
    { envFrom: [{ secretRef: { name: "s" } }, { secretRef: { name: "s", optional: false } }, { configMapRef: { name: "m" } }] },
  ],
  [
    "volumeMounts: the last of the same name is replaced",
    { volumeMounts: [{ name: "v", mountPath: "/new" }] },
    {
      volumeMounts: [
        { name: "v", mountPath: "/a" },
        { name: "w", mountPath: "/w" },
        { name: "v", mountPath: "/b" },
      ],
    },
    {
      volumeMounts: [
        { name: "v", mountPath: "/a" },
        { name: "w", mountPath: "/w" },
        { name: "v", mountPath: "/new" },
      ],
    },
  ],
  [
    "resources are replaced as a whole",
    { resources: { limits: { cpu: "0.5" } } },
    { resources: { requests: { memory: "1Gi" } } },
    { resources: { limits: { cpu: "500m" } } },
  ],
  ["empty resources clear them", { resources: {} }, { resources: { requests: { memory: "1Gi" } } }, { resources: {} }],
  [
    "keys are taken in any letter case below the schema",
    { env: [{ name: "A", Value: "b" }] },
    {},
    { env: [{ name: "A", value: "b" }], resources: {} },
  ],
])("%s", ([, given, container, want]) => {
  expect(containerWith(given, container)).toEqual({ name: "c", resources: {}, ...want });
});

test.for<[name: string, given: JsonObject, pod: JsonObject, want: JsonObject]>([
  [
    "volumes: same name is replaced, others are appended",
    {
      volumes: [
        { name: "v", emptyDir: {} },
        { name: "x", configMap: { name: "m" } },
      ],
    },
    { volumes: [{ name: "v", secret: { secretName: "s" } }, { name: "w" }] },
    { volumes: [{ name: "v", emptyDir: {} }, { name: "w" }, { name: "x", configMap: { name: "m" } }] },
  ],
  [
    "tolerations: what is there is not appended again",
    {
      tolerations: [
        { operator: "Exists", key: "a" },
        { key: "b", tolerationSeconds: 5 },
      ],
    },
    { tolerations: [{ key: "a", operator: "Exists" }] },
    {
      tolerations: [
        { key: "a", operator: "Exists" },
        { key: "b", tolerationSeconds: 5 },
      ],
    },
  ],
  ["nodeSelector is replaced as a whole", { nodeSelector: { c: "d" } }, { nodeSelector: { a: "b" } }, { nodeSelector: { c: "d" } }],
  ["an empty nodeSelector clears it", { nodeSelector: {} }, { nodeSelector: { a: "b" } }, {}],
  ["an absent nodeSelector leaves it", {}, { nodeSelector: { a: "b" } }, { nodeSelector: { a: "b" } }],
  ["an absent affinity leaves it", {}, { affinity: node }, { affinity: node }],
  ["an empty affinity removes it", { affinity: {} }, { affinity: node }, {}],
  [
    "affinity is replaced kind by kind",
    { affinity: anti },
    { affinity: { ...node, ...pods } },
    { affinity: { ...node, ...pods, ...anti } },
  ],
  ["an empty kind of affinity is removed", { affinity: { nodeAffinity: {} } }, { affinity: { ...node, ...pods } }, { affinity: pods }],
  ["where none is left affinity goes", { affinity: { nodeAffinity: {} } }, { affinity: node }, {}],
  ["affinity is added where there is none", { affinity: pods }, {}, { affinity: pods }],
])("%s", ([, given, pod, want]) => {
  const { containers, ...rest } = podWith(given, pod);
  expect(containers).toHaveLength(1);
  expect(rest).toEqual(want);
});

test("annotations are added where the key is free, on the Deployment and its pods", () => {
  const { metadata, spec } = deploymentWith({ annotations: { a: "user", b: "user" } }, {}, { a: "bundle" });
  expect(metadata.annotations).toEqual({ a: "user", b: "user" });
  expect(spec.template.metadata.annotations).toEqual({ a: "bundle", b: "user", "olm.operatorNamespace": "ns", "olm.targetNamespaces": "" });
});

test("init containers are left alone, all containers are changed", () => {
  const pod = { initContainers: [{ name: "i" }], containers: [{ name: "c" }, { name: "d" }] };
  const { initContainers, containers } = podWith({ env: [{ name: "A" }] }, pod);
  expect(initContainers).toEqual([{ name: "i", resources: {} }]);
  expect(containers.map(({ env }) => env)).toEqual([[{ name: "A" }], [{ name: "A" }]]);
});
