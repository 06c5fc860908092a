import { describe, expect, test } from "vitest";
import { createCrd } from "../../../test/support/bundleFixture.ts";
import { configMap } from "../../../test/support/releases.ts";
import { Inventory, ProvidedApis } from "../../api/clusterExtensionStatus.ts";
import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import { buildApiKindsAnnotation } from "../../bundle/apiServices.ts";
import { buildInventory, collectProvidedApis } from "./status.ts";

const crd = (name: string, spec: JsonObject): KubeObject => createCrd(name, spec) as KubeObject;
const served = (...names: string[]): JsonObject[] => names.map((name) => ({ name, served: true }));
const apiService = (version: string, ...kinds: string[]): KubeObject => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: `${version}.x.io`, annotations: buildApiKindsAnnotation(kinds.map((kind) => ({ kind, name: kind.toLowerCase() }))) },
  spec: { group: "x.io", version },
});

// Source: D-32 (installed objects of an extension, and the APIs that it provides).
describe("status of a release", () => {
  test("buildInventory lists objects in order, without an empty group or namespace", () => {
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "r" } };
    expect(buildInventory([configMap("a", "ns"), role])).toEqual({
      count: 2,
      objects: [
        { version: "v1", kind: "ConfigMap", namespace: "ns", name: "a" },
        { group: "rbac.authorization.k8s.io", version: "v1", kind: "ClusterRole", name: "r" },
      ],
    });
  });

  test("buildInventory lists the first hundred objects and the number of all objects", () => {
    const inventory = buildInventory(Array.from({ length: 250 }, (_, i) => configMap(`c${i}`, "ns")));
    expect([inventory.count, inventory.objects.length]).toEqual([250, 100]);
    expect(Inventory.safeParse(inventory).success).toBe(true);
  });

  test.for<[string, KubeObject[], unknown]>([
    [
      "kinds of definitions with their served versions, sorted",
      [
        crd("bs.x.io", { group: "x.io", names: { kind: "B" }, versions: [...served("v2", "v1"), { name: "v0", served: false }] }),
        crd("as.x.io", { group: "x.io", names: { kind: "A" }, versions: served("v1") }),
        configMap("a", "ns"),
      ],
      [
        { group: "x.io", kind: "A", versions: ["v1"] },
        { group: "x.io", kind: "B", versions: ["v2", "v1"] },
      ],
    ],
    [
      "kinds of API services, with all their versions",
      [apiService("v1", "A", "B"), apiService("v2", "A")],
      [
        { group: "x.io", kind: "A", versions: ["v1", "v2"] },
        { group: "x.io", kind: "B", versions: ["v1"] },
      ],
    ],
    ["nothing without definitions", [configMap("a", "ns")], []],
    [
      "nothing for malformed definitions",
      [
        crd("a", {}),
        crd("b", { group: 1, names: { kind: "A" } }),
        crd("c", { group: "g", names: { kind: "C" }, versions: [null, { name: 2, served: true }] }),
      ],
      [{ group: "g", kind: "C", versions: [] }],
    ],
  ])("collectProvidedApis returns %s", ([, objects, wanted]) => {
    expect(collectProvidedApis(objects)).toEqual(wanted);
    expect(ProvidedApis.safeParse(collectProvidedApis(objects)).success).toBe(true);
  });
});
