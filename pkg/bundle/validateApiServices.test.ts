import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject } from "../api/k8s.ts";
import { validateBundle } from "./validate.ts";

interface FaultCase extends CaseHead {
  deployments?: string[];
  owned: JsonObject[];
  webhooks?: JsonObject[];
  crds?: { name: string; group: string; versions: string[] }[];
  findings?: string[];
}

const API = { group: "a.example.com", version: "v1", kind: "A", name: "as", deploymentName: "d" };
const WEBHOOK = { type: "MutatingAdmissionWebhook", deploymentName: "d", sideEffects: "None", admissionReviewVersions: ["v1"] };

test.for(loadCases<FaultCase>("api-service-faults"))(
  "validateBundle checks API services: $name",
  ({ deployments = ["d"], owned, webhooks = [], crds = [], findings = [] }) => {
    const bundle = bundleOf({
      deployments: deployments.map((name) => ({ name, spec: {} })),
      ownedApiServices: owned.map((parts) =>
        Object.fromEntries(Object.entries({ ...API, ...parts }).filter(([, value]) => value !== null)),
      ),
      webhooks: webhooks.map((parts) => ({ ...WEBHOOK, ...parts })),
      crds: crds.map(({ name, group, versions }) => ({
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name },
        spec: { group, versions: versions.map((version) => ({ name: version, served: true })) },
      })),
    });
    expect(validateBundle(bundle)).toEqual(findings);
  },
);
