import { expect, test } from "vitest";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { findBundleImage } from "./bundleImages.ts";

function plan(...bundleLookups: unknown[]): KubeObject {
  const status = { bundleLookups } as JsonObject;
  return { apiVersion: "operators.coreos.com/v1alpha1", kind: "InstallPlan", metadata: { name: "install-abcde", namespace: "n" }, status };
}

const IMAGE = "registry.example/p:v1";

test.for<[string, KubeObject[], string | undefined]>([
  ["the image of the bundle", [plan({ identifier: "q.v1", path: "registry.example/q:v1" }, { identifier: "p.v1", path: IMAGE })], IMAGE],
  ["the image from any InstallPlan", [plan(), plan({ identifier: "p.v1", path: IMAGE })], IMAGE],
  ["nothing if no InstallPlan exists", [], undefined],
  ["nothing for a bundle that was in a ConfigMap", [plan({ identifier: "p.v1", path: "" })], undefined],
  [
    "nothing if the path is not an image",
    [plan({ identifier: "p.v1", path: "x; rm -rf /" }, { identifier: "p.v1", path: 7 }, 7)],
    undefined,
  ],
])("findBundleImage returns %s", ([, plans, want]) => {
  expect(findBundleImage(plans, "p.v1")).toBe(want);
});
