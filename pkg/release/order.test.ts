import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { describeObject } from "./identity.ts";
import { sortForInstall, sortForUninstall } from "./plan.ts";

const object = (kind: string, name = "a", namespace?: string): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: namespace === undefined ? { name } : { name, namespace },
});

test("sortForInstall sorts kinds in Helm's order, unknown kinds last and by name", () => {
  const kinds = [
    "ValidatingWebhookConfiguration",
    "Deployment",
    "Certificate",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "ConfigMap",
  ];
  const all = [
    ...kinds,
    "Role",
    "Service",
    "ServiceAccount",
    "RoleBinding",
    "ClusterRole",
    "APIService",
    "Secret",
    "PriorityClass",
    "Namespace",
  ];
  expect(sortForInstall(all.map((kind) => object(kind))).map(({ kind }) => kind)).toEqual([
    "PriorityClass",
    "Namespace",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "Deployment",
    "APIService",
    "Certificate",
    "ValidatingWebhookConfiguration",
  ]);
});

test("sortForInstall puts a custom resource after its CRD even if its kind has the name of a built-in kind", () => {
  const custom: KubeObject = { apiVersion: "ecr.example.com/v1", kind: "Secret", metadata: { name: "a" } };
  const definition: KubeObject = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "b" } };
  expect(sortForInstall([custom, definition])).toEqual([definition, custom]);
});

test("sortForInstall sorts objects of a kind by namespace and name", () => {
  const objects = [object("Role", "b", "x"), object("Role", "a", "y"), object("Role", "a", "x"), object("Role", "c")];
  expect(sortForInstall(objects).map(describeObject)).toEqual(["Role c", "Role x/a", "Role x/b", "Role y/a"]);
});

test("sortForInstall does not depend on the input's order, and sortForUninstall is its exact reverse", () => {
  const kinds = fc.constantFrom("Deployment", "Role", "Service", "Zebra", "Antelope", "Secret");
  const some = fc.uniqueArray(fc.tuple(kinds, fc.constantFrom("a", "b", "c"), fc.constantFrom("n", "m")), {
    selector: (entry) => entry.join(),
  });
  fc.assert(
    fc.property(some, (entries) => {
      const objects = entries.map(([kind, name, namespace]) => object(kind, name, namespace));
      expect(sortForInstall(objects.toReversed())).toEqual(sortForInstall(objects));
      expect(sortForUninstall(objects)).toEqual(sortForInstall(objects).reverse());
    }),
  );
});
