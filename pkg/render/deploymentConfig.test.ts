import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject } from "../api/k8s.ts";
import { renderBundle } from "./render.ts";

interface DeploymentCase extends CaseHead {
  config: JsonObject;
  /** `deploymentConfigs`. */
  configs?: JsonObject[];
  pod?: JsonObject;
  labels?: Record<string, string>;
  podLabels?: Record<string, string>;
  podAnnotations?: Record<string, string>;
  imagePullSecrets?: { name: string }[];
  want?: JsonObject;
  container?: JsonObject;
  annotations?: { deployment: Record<string, string>; pods: Record<string, string> };
}

interface Rendered {
  metadata: { annotations?: Record<string, string> };
  spec: { template: { metadata: { annotations: Record<string, string> }; spec: JsonObject & { containers: JsonObject[] } } };
}

/** Returns the only Deployment of a bundle after applying the user's configuration. */
function deploymentOf({ config, configs, pod, labels, podLabels, podAnnotations, imagePullSecrets }: DeploymentCase): Rendered {
  const template = { metadata: { labels: podLabels, annotations: podAnnotations }, spec: { containers: [{ name: "c" }], ...pod } };
  const bundle = bundleOf({ deployments: [{ name: "d", label: labels, spec: { template } }] });
  const deploymentConfigs = configs ? { deploymentConfigs: configs } : {};
  const options = { installNamespace: "ns", config: { deploymentConfig: config, ...deploymentConfigs }, imagePullSecrets };
  const objects = renderBundle(bundle, options);
  return objects.find(({ kind }) => kind === "Deployment") as unknown as Rendered;
}

test.for(loadCases<DeploymentCase>("deployment-config"))("$name", (row) => {
  const { metadata, spec } = deploymentOf(row);
  const { containers, ...rest } = spec.template.spec;
  if (row.container) expect(containers[0]).toEqual({ name: "c", resources: {}, ...row.container });
  if (row.want) expect("containers" in row.want ? { ...rest, containers } : rest).toEqual(row.want);
  if (row.annotations) expect({ deployment: metadata.annotations, pods: spec.template.metadata.annotations }).toEqual(row.annotations);
  expect([row.container, row.want, row.annotations].some((part) => part !== undefined)).toBe(true);
});
