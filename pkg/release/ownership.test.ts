import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { KubeObject } from "../api/k8s.ts";
import { determineOwnership, findOwnershipConflict, type Ownership } from "./ownership.ts";

interface OwnershipCase extends CaseHead {
  given: { live?: KubeObject; existing?: string[] };
  want: { kind: Ownership["kind"]; owner?: string; message?: string };
}

const OWNER = { name: "hello", uid: "1234", installNamespace: "ns" };

test.for(loadCases<OwnershipCase>("release-ownership"))("$name", ({ given: { live, existing }, want }) => {
  const exists = existing && ((name: string): boolean => existing.includes(name));
  const { refusal: _refusal, claim: _claim, ...told } = { refusal: "", claim: {}, ...determineOwnership(live, OWNER, exists) };
  expect(told).toEqual(want);
  expect(findOwnershipConflict(live, OWNER, exists)).toBe(want.kind === "foreign" ? want.message : undefined);
});

test("determineOwnership assumes that the owner in the labels exists unless the caller states that the owner does not exist", () => {
  const labels = { "olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "other" };
  const live: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "ns", labels } };
  expect(determineOwnership(live, OWNER)).toMatchObject({ kind: "foreign", owner: "other" });
  expect(determineOwnership(live, OWNER, () => false)).toMatchObject({ kind: "orphan", owner: "other" });
});

test("determineOwnership never advises to delete a CustomResourceDefinition when its owner is unknown", () => {
  const live: KubeObject = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.com" },
  };
  const found = determineOwnership(live, OWNER);
  expect(found).toMatchObject({ kind: "foreign" });
  const { remedy = "" } = "claim" in found ? found.claim : {};
  expect(remedy).not.toContain("delete");
  const labels = Object.fromEntries([...remedy.matchAll(/(\S+)=(\S+)/g)].map(([, key = "", value = ""]) => [key, value]));
  expect(determineOwnership({ ...live, metadata: { ...live.metadata, labels } }, OWNER).kind).toBe("orphan");
});
