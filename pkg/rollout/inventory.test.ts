import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { newProblem } from "../api/problems.ts";
import { readExtensionTree, type TreeNode } from "./inventory.ts";

test("readExtensionTree lists the reasons why dependencies are not met, as in the status", async () => {
  const reasons = ['a 1.0.0 requires package "b" >=2.0.0', 'catalog "c" has only b 1.9.0'];
  const details = reasons.map((message) => ({ bundle: "a.v1.0.0", message }));
  const problem = newProblem("UnsatisfiedDependencies", { message: reasons.join("; "), details });
  const extension = { ...createExtension("a", { packageName: "a" }), status: { problems: [problem] } };
  const client = { get: () => Promise.resolve(extension), list: () => Promise.resolve({ items: [] }) };
  const tree = await readExtensionTree(client as never, "a", 0);
  expect(tree.children).toEqual([
    { label: "bundle a.v1.0.0 cannot be installed", children: reasons.map((label) => ({ label, children: [] })) },
  ]);
});

/** Returns the labels of a tree, indented by depth. */
function listLabels({ label, children }: TreeNode): string[] {
  return [label, ...children.flatMap(listLabels).map((line) => `  ${line}`)];
}

/** Returns an extension that was created as a dependency of the others. */
function createDependency(name: string, ...dependents: string[]): ClusterExtension {
  const extension = createExtension(name, { packageName: name });
  const labels = dependents.map((one) => [`dependent.olm.operatorframework.io/${one}`, `uid-${one}`]);
  const metadata = { name, uid: `uid-${name}`, labels: { "olm.operatorframework.io/dependency": "true", ...Object.fromEntries(labels) } };
  return { ...extension, metadata };
}

test("readExtensionTree lists each created dependency once, below an extension that needs it, when extensions need each other", async () => {
  const user = createExtension("a", { packageName: "a" });
  const a = { ...user, metadata: { name: "a", uid: "uid-a" } };
  const items = [
    a,
    createDependency("b", "a", "c"),
    createDependency("c", "b"),
    createDependency("d", "b", "a"),
    createDependency("e", "z"),
  ];
  const client = { get: () => Promise.resolve(a), list: () => Promise.resolve({ items }) };
  const lines = listLabels(await readExtensionTree(client as never, "a", 0));
  expect(lines.map((line) => line.replace(/ClusterExtension (\w+): .*/, "$1"))).toEqual(["a", "  b", "    c", "  d"]);
});

test("readExtensionTree lists the bundles of a plan that are not installed, and why it cannot list dependencies", async () => {
  const bundle = (name: string) => ({ name: `${name}.v1.0.0`, version: "1.0.0" });
  const members = [{ extension: "b", packageName: "b", bundle: bundle("b"), catalog: "c", wave: 1, created: true }];
  const dependencyPlan = { digest: "d", bundle: bundle("a"), catalog: "c", wave: 2, members };
  const a = { ...createExtension("a", { packageName: "a" }), status: { dependencyPlan } };
  const read = (list: () => Promise<unknown>): Promise<TreeNode> =>
    readExtensionTree({ get: () => Promise.resolve(a), list } as never, "a", 0);
  expect(listLabels(await read(() => Promise.resolve({ items: [a] }))).slice(1)).toEqual([
    "  dependency plan: 0 of 2 bundles installed",
    "    wave 1: b.v1.0.0 (ClusterExtension b): not created yet",
    "    wave 2: a.v1.0.0 (ClusterExtension a): waiting",
  ]);
  expect(listLabels(await read(() => Promise.reject(new Error("forbidden"))))[1]).toBe("  cannot list its dependencies: forbidden");
});
