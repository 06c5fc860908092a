import { join } from "node:path";
import { expect, test } from "vitest";
import { formatTree } from "./tree.ts";

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
