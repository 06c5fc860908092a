import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { decodedRecord } from "../../test/support/releases.ts";
import { describeWithData } from "../../test/support/sharedData.ts";
import { API_VERSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { prepareObjects } from "../release/prepare.ts";
import { encodeRelease } from "../release/storage/encode.ts";
import { splitRule } from "./policyRule.ts";
import { computeRequiredRules } from "./requiredRules.ts";
import { findKnownResource } from "./resources.ts";

interface RenderCase {
  namespace: string;
  objects?: KubeObject[];
  objectsExceptCRDs?: KubeObject[];
}

const OWNER = { apiVersion: API_VERSION, kind: "ClusterExtension", name: "real", uid: "1234" };
/** Contains ClusterRoles without an apiVersion, which can never be applied. */
const WITHOUT_API_VERSION = /^cluster-aas-operator/;
/** Custom resources of a CRD that is excluded from the expectation. */
const ITS_OWN_CRD = "ecr.mobb.redhat.com/v1alpha1";

describeWithData("objects of real bundles", (folder) => {
  const cases = readdirSync(join(folder, "render"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".json"))
    .sort()
    .map((file) => [file, JSON.parse(readFileSync(join(folder, "render", file), "utf8")) as RenderCase] as const)
    .map(([file, { namespace, objects, objectsExceptCRDs = [] }]) => ({ file, namespace, objects: objects ?? objectsExceptCRDs }))
    .filter(({ file, objects }) => objects.length > 0 && !WITHOUT_API_VERSION.test(file));

  test("prepareObjects succeeds, is deterministic, and returns objects that a stored release preserves", () => {
    expect(cases.length).toBeGreaterThan(100);
    for (const { file, namespace, objects } of cases) {
      const options = {
        owner: OWNER,
        installNamespace: namespace,
        isNamespaced: (gvk: KubeObject | { apiVersion: string; kind: string }) => findKnownResource(gvk)?.namespaced,
      };
      const prepared = prepareObjects(objects, options).objects;
      expect([file, prepareObjects(prepared, options).objects]).toEqual([file, prepared]);
      const times = { firstDeployed: "2026-01-01T00:00:00Z", lastDeployed: "2026-01-01T00:00:00Z" };
      const record = {
        name: "real",
        namespace,
        version: 1,
        status: "deployed",
        description: "",
        ...times,
        labels: {},
        annotations: {},
        objects: prepared,
      } as const;
      const [index, ...chunks] = encodeRelease(record, { systemNamespace: "olmv1-system", owner: OWNER });
      expect([file, index && decodedRecord(index, chunks)]).toEqual([file, record]);
    }
  });

  test("computeRequiredRules finds the resource of each kind, and returns rules without resource names only for verb list", () => {
    for (const { file, namespace, objects } of cases) {
      const { clusterRules, namespaceRules, unknownKinds } = computeRequiredRules(objects, { installNamespace: namespace });
      expect([file, unknownKinds.filter(({ apiVersion }) => apiVersion !== ITS_OWN_CRD)]).toEqual([file, []]);
      const unnamed = [...clusterRules, ...[...namespaceRules.values()].flat()].flatMap(splitRule).filter(({ name }) => name === undefined);
      expect([file, unnamed.filter(({ verb }) => verb !== "list")]).toEqual([file, []]);
    }
  });
});
