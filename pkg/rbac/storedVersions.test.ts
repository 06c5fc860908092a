import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { KubeObject } from "../api/k8s.ts";
import { computeStoredVersionRules } from "./requiredRules.ts";

interface UpgradeCase extends CaseHead {
  given: (string[] | null)[];
  want: boolean;
}

function crd(name: string, versions: readonly string[]): KubeObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: { versions: versions.map((text) => ({ name: text.replace("*", ""), served: true, storage: text.endsWith("*") })) },
  };
}

const RIGHT = { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions/status"], verbs: ["patch"] };

test.for(loadCases<UpgradeCase>("rbac-upgrades"))("$name", ({ given, want }) => {
  const other = crd("other.example.com", ["v1*"]);
  const { clusterRules, namespaceRules } = computeStoredVersionRules(
    given.map((versions) => [other, ...(versions ? [crd("as.example.com", versions)] : [])]),
  );
  expect(clusterRules).toEqual(want ? [{ ...RIGHT, resourceNames: ["as.example.com"] }] : []);
  expect(namespaceRules.size).toBe(0);
});
