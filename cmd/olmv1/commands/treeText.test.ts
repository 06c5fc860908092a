import { join } from "node:path";
import { expect, test } from "vitest";
import type { NodeSubject, ObjectNode } from "../../../pkg/rollout/objectTree.ts";
import { formatTree, labelTree } from "./tree.ts";

test("formatTree prints one line per node, with connecting lines", () => {
  const leaf = (label: string) => ({ label, children: [] });
  const root = {
    label: "x",
    children: [
      { label: "a", children: [{ label: "b", children: [leaf("c"), leaf("d")] }] },
      { label: "e", children: [leaf("f")] },
    ],
  };
  expect(formatTree(root).split("\n")).toEqual(["x", "├─ a", "│  └─ b", "│     ├─ c", "│     └─ d", "└─ e", "   └─ f", ""]);
});

const FAILING =
  "Deployment argocd/argocd-operator-controller-manager: in progress: 0 of 2 updated replicas are available; Deployment does not have minimum availability";

test.for([40, 80, 200])("formatTree wraps labels in %i columns", async (width) => {
  const pods = ["a", "b"].map((name) => ({
    label: `Pod argocd/argocd-operator-7d9c-${name}: failed: container "manager": ImagePullBackOff`,
    children: [],
  }));
  const root = {
    label: "ClusterExtension argocd: argocd-operator.v0.13.0 (version 0.13.0), not ready: RollingOut: Revision 0.13.0 is rolling out.",
    children: [
      { label: "ServiceAccount argocd/argocd-operator", children: [] },
      { label: FAILING, children: [{ label: "ReplicaSet argocd/argocd-operator-7d9c", children: pods }] },
      { label: "ClusterRole argocd-operator.v0.13.0-11eo31ntey09ohy5kpw33k9x9626aocyoj1vlmwksm7h", children: [] },
    ],
  };
  await expect(formatTree(root, width)).toMatchFileSnapshot(join(import.meta.dirname, `../../../test/goldens/cli/tree-${width}.txt`));
});

test("formatTree escapes control characters and line breaks", () => {
  expect(formatTree({ label: "a\u001b[2J\nb", children: [] })).toBe("a\\u{1b}[2J b\n");
});

test("labelTree formats each kind of node, and omits the namespace of an object below an object", () => {
  const leaf = (subject: NodeSubject): ObjectNode => ({ subject, children: [] });
  const ref = (kind: string) => ({ apiVersion: "v1", kind, namespace: "n", name: "x" });
  const pod = leaf({ kind: "object", ref: ref("Pod"), state: "failed", message: "evicted" });
  const bundle = { name: "a.v1.0.0", version: "1.0.0" };
  const member = { wave: 1, extension: "b", bundle, catalog: "c", state: "notCreated", why: "" } as const;
  const children: ObjectNode[] = [
    leaf({ kind: "note", text: "a note" }),
    leaf({ kind: "uninstallableBundle", bundle: "a.v2.0.0" }),
    { subject: { kind: "plan", installed: 0, all: 2 }, children: [leaf({ kind: "planMember", member })] },
    leaf({ kind: "extension", name: "b", bundle, state: "ready", reason: "", message: "" }),
    leaf({ kind: "extension", name: "c", bundle: undefined, state: "notReconciled", reason: "", message: "" }),
    { subject: { kind: "object", ref: ref("Deployment"), state: "healthy", message: "" }, children: [pod] },
    leaf({ kind: "object", ref: ref("ConfigMap"), state: "present", message: "" }),
    leaf({ kind: "object", ref: ref("Service"), state: "missing", message: "" }),
    leaf({ kind: "object", ref: ref("Secret"), state: "unreadable", message: "cannot read it: forbidden" }),
    leaf({ kind: "omitted", count: 3 }),
  ];
  const root = { kind: "extension", name: "a", bundle, state: "notReady", reason: "Failed", message: "m" } as const;
  expect(
    formatTree(labelTree({ subject: root, children }))
      .trimEnd()
      .split("\n"),
  ).toEqual([
    "ClusterExtension a: a.v1.0.0 (version 1.0.0), not ready: Failed: m",
    "├─ a note",
    "├─ bundle a.v2.0.0 cannot be installed",
    "├─ dependency plan: 0 of 2 bundles installed",
    "│  └─ wave 1: a.v1.0.0 (ClusterExtension b): not created yet",
    "├─ ClusterExtension b: a.v1.0.0 (version 1.0.0), ready",
    "├─ ClusterExtension c: nothing installed, not reconciled yet",
    "├─ Deployment n/x: healthy",
    "│  └─ Pod x: failed: evicted",
    "├─ ConfigMap n/x",
    "├─ Service n/x: missing",
    "├─ Secret n/x: cannot read it: forbidden",
    "└─ and 3 more objects",
  ]);
});
