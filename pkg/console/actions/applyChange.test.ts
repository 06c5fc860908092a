import { expect, test } from "vitest";
import { readAppliedObjects } from "./applyChange.ts";

const ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: { name: a, namespace: b }\n";

test("readAppliedObjects returns all objects of the allowed kinds", () => {
  const yaml = `${ROLE}---\n---\napiVersion: olm.operatorframework.io/v1\nkind: ClusterExtension\nmetadata: { name: argocd }\n`;
  expect(readAppliedObjects(yaml).map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
    ["Role", "a"],
    ["ClusterExtension", "argocd"],
  ]);
});

test.for([
  ["invalid YAML", "a: [", "the YAML cannot be read"],
  ["no objects", "# nothing\n", "contains no objects"],
  ["a Secret", "apiVersion: v1\nkind: Secret\nmetadata: { name: a, namespace: b }", "is a Secret (v1), which the console does not apply"],
  ["another API group", "apiVersion: example.com/v1\nkind: Role\nmetadata: { name: a, namespace: b }", "is a Role (example.com/v1)"],
  ["a List", "apiVersion: v1\nkind: List\nmetadata: { name: a }\nitems: []", "is a List (v1)"],
  ["text", "just text", "is not an object with apiVersion, kind and metadata.name"],
  ["no name", "apiVersion: v1\nkind: Namespace\nmetadata: {}", "is not an object with apiVersion, kind and metadata.name"],
  ["a namespaced object without a namespace", "apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: a }", "without metadata.namespace"],
  ["a cluster-scoped object with a namespace", "apiVersion: v1\nkind: Namespace\nmetadata: { name: a, namespace: b }", "cluster-scoped"],
  ["the same object twice", `${ROLE}---\n${ROLE}`, "twice"],
  ["too many objects", Array.from({ length: 101 }, (_, i) => ROLE.replace("name: a", `name: a${i}`)).join("---\n"), "maximum of 100"],
])("readAppliedObjects rejects %s", ([, yaml, message]) => {
  expect(() => readAppliedObjects(yaml ?? "")).toThrow(message);
});
