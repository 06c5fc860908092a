import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { differsOnlyInBundleLabels, withBundleLabels, withoutBundleLabels } from "./labels.ts";

const PACKAGE = "olm.operatorframework.io/package-name";
const VERSION = "olm.operatorframework.io/bundle-version";

const deployment = (labels?: Record<string, string>, image = "i:1"): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", annotations: { a: "b" }, ...(labels ? { labels } : {}) },
  spec: { template: { metadata: { labels: { app: "d" } }, spec: { containers: [{ name: "c", image }] } } },
});

// Source: D-30.
test("withBundleLabels sets labels for package and version on an object, but not on its Pods", () => {
  const given = deployment({ app: "d", [PACKAGE]: "theirs", [VERSION]: "9.9.9" });
  const before = structuredClone(given);
  const labelled = withBundleLabels(given, { packageName: "hello", version: "1.0.0+7" });
  expect(labelled).toEqual(deployment({ app: "d", [PACKAGE]: "hello", [VERSION]: "1.0.0_7" }));
  expect(withBundleLabels(labelled, { packageName: "hello", version: "1.0.0+7" })).toEqual(labelled);
  expect(withoutBundleLabels(labelled)).toEqual(deployment({ app: "d" }));
  expect(given).toEqual(before);
});

test("withBundleLabels changes nothing when the bundle is unknown, and withoutBundleLabels removes the labels", () => {
  expect(withoutBundleLabels(withBundleLabels(deployment(), { packageName: "hello", version: "1.0.0" }))).toEqual(deployment());
  expect(withBundleLabels(deployment({ app: "d" }), { packageName: "hello", version: "" }).metadata.labels).toEqual({
    app: "d",
    [PACKAGE]: "hello",
  });
});

test.for<[what: string, before: KubeObject, after: KubeObject, only: boolean]>([
  ["the version", deployment({ [VERSION]: "1.0.0" }), deployment({ [VERSION]: "1.1.0" }), true],
  ["labels that did not exist", deployment(), deployment({ [PACKAGE]: "p", [VERSION]: "1.0.0" }), true],
  ["nothing", deployment({ [VERSION]: "1.0.0" }), deployment({ [VERSION]: "1.0.0" }), false],
  ["another label in addition", deployment({ [VERSION]: "1.0.0" }), deployment({ [VERSION]: "1.1.0", app: "d" }), false],
  ["the image in addition", deployment({ [VERSION]: "1.0.0" }), deployment({ [VERSION]: "1.1.0" }, "i:2"), false],
  ["the image", deployment(), deployment(undefined, "i:2"), false],
])("differsOnlyInBundleLabels returns true only for changed bundle labels when the difference is %s", ([, before, after, only]) => {
  expect(differsOnlyInBundleLabels(before, after)).toBe(only);
});
