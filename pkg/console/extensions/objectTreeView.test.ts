import { expect, test } from "vitest";
import type { ObjectTreeNode } from "../../consoleapi/objects.ts";
import type { NodeSubject, ObjectNode } from "../../rollout/objectTree.ts";
import { buildTreeView } from "./objectTreeView.ts";

function object(
  kind: string,
  name: string,
  state: "healthy" | "failed" | "present" | "missing" | "unreadable",
  children: ObjectNode[] = [],
): ObjectNode {
  const apiVersion = kind === "Pod" || kind === "ConfigMap" ? "v1" : "apps/v1";
  return { subject: { kind: "object", ref: { apiVersion, kind, namespace: "shop", name }, state, message: "" }, children };
}

function extension(children: ObjectNode[], state: "ready" | "notReady" = "ready"): ObjectNode {
  const subject: NodeSubject = { kind: "extension", name: "x", bundle: { name: "x.v1", version: "1.0.0" }, state, reason: "", message: "" };
  return { subject, children };
}

const describeNode = ({ title, text, isFailing }: ObjectTreeNode): string => `${title} ${text}${isFailing ? " !" : ""}`.trim();

test("buildTreeView lists what does not work first, and counts it once", () => {
  const pod = object("Pod", "web-1", "failed");
  const tree = extension([
    object("ConfigMap", "a", "present"),
    object("Deployment", "web", "healthy", [object("ReplicaSet", "web-2", "healthy", [pod])]),
  ]);
  const { root, failing } = buildTreeView(tree);
  expect(root.children.map(describeNode)).toEqual(["Deployment shop/web !", "ConfigMap shop/a"]);
  expect(failing).toBe(1);
});

test("buildTreeView names objects below an object without their namespace", () => {
  const { root } = buildTreeView(extension([object("Deployment", "web", "healthy", [object("Pod", "web-1", "healthy")])]));
  expect(root.children[0]?.children.map(describeNode)).toEqual(["Pod web-1"]);
});

test.for([
  ["missing", false],
  ["unreadable", false],
  ["present", true],
] as const)("buildTreeView links an object that is %s: %s", ([state, isLinked]) => {
  const [node] = buildTreeView(extension([object("ConfigMap", "a", state)])).root.children;
  expect(node?.object !== undefined).toBe(isLinked);
});

test("buildTreeView describes all kinds of nodes with unique identifiers", () => {
  const member = {
    wave: 1,
    extension: "b",
    bundle: { name: "b.v1", version: "1.0.0" },
    catalog: "c",
    state: "blocked" as const,
    why: "it waits",
  };
  const leaf = (subject: NodeSubject): ObjectNode => ({ subject, children: [] });
  const tree = extension(
    [
      { subject: { kind: "plan", installed: 1, all: 2 }, children: [leaf({ kind: "planMember", member })] },
      leaf({ kind: "uninstallableBundle", bundle: "d.v1" }),
      leaf({ kind: "omitted", count: 3 }),
      leaf({ kind: "note", text: "cannot list" }),
    ],
    "notReady",
  );
  const { root } = buildTreeView(tree);
  const nodes = [root, ...root.children, ...root.children.flatMap(({ children }) => children)];
  expect(nodes.map(describeNode)).toEqual([
    "ClusterExtension x (x.v1) !",
    "Dependency plan: 1 of 2 bundles installed !",
    "Bundle d.v1 cannot be installed !",
    "and 3 more objects",
    "cannot list",
    "Bundle b.v1 !",
  ]);
  expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
});
