import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { newProblem } from "../api/problems.ts";
import { type NodeSubject, type ObjectNode, readExtensionTree } from "./objectTree.ts";

const OPTIONS = { systemNamespace: "olmv1-system", now: 0 };

test("readExtensionTree lists the reasons why dependencies are not met, as in the status", async () => {
  const reasons = ['a 1.0.0 requires package "b" >=2.0.0', 'catalog "c" has only b 1.9.0'];
  const details = reasons.map((message) => ({ bundle: "a.v1.0.0", message }));
  const problem = newProblem("UnsatisfiedDependencies", { message: reasons.join("; "), details });
  const extension = { ...createExtension("a", { packageName: "a" }), status: { problems: [problem] } };
  const client = { get: () => Promise.resolve(extension), list: () => Promise.resolve({ items: [] }) };
  const tree = await readExtensionTree(client as never, "a", OPTIONS);
  expect(tree.children).toEqual([
    {
      subject: { kind: "uninstallableBundle", bundle: "a.v1.0.0" },
      children: reasons.map((text) => ({ subject: { kind: "note", text }, children: [] })),
    },
  ]);
});

/** Returns a line for each node of a tree, indented by depth. */
function listLines({ subject, children }: ObjectNode, format: (subject: NodeSubject) => string): string[] {
  return [format(subject), ...children.flatMap((child) => listLines(child, format)).map((line) => `  ${line}`)];
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
  const tree = await readExtensionTree(client as never, "a", OPTIONS);
  const lines = listLines(tree, (subject) => (subject.kind === "extension" ? subject.name : subject.kind));
  expect(lines).toEqual(["a", "  b", "    c", "  d"]);
});

test("readExtensionTree lists the bundles of a plan that are not installed, and why it cannot list dependencies", async () => {
  const bundle = (name: string) => ({ name: `${name}.v1.0.0`, version: "1.0.0" });
  const members = [{ extension: "b", packageName: "b", bundle: bundle("b"), catalog: "c", wave: 1, created: true }];
  const dependencyPlan = { digest: "d", bundle: bundle("a"), catalog: "c", wave: 2, members };
  const a = { ...createExtension("a", { packageName: "a" }), status: { dependencyPlan } };
  const read = (list: () => Promise<unknown>): Promise<ObjectNode> =>
    readExtensionTree({ get: () => Promise.resolve(a), list } as never, "a", OPTIONS);
  const tree = await read(() => Promise.resolve({ items: [a] }));
  const format = (subject: NodeSubject): string => {
    if (subject.kind === "plan") return `${subject.installed} of ${subject.all}`;
    return subject.kind === "planMember" ? `${subject.member.extension} ${subject.member.state}` : subject.kind;
  };
  expect(listLines(tree, format)).toEqual(["extension", "  0 of 2", "    b notCreated", "    a waiting"]);
  const [first] = (await read(() => Promise.reject(new Error("forbidden")))).children;
  expect(first).toEqual({ subject: { kind: "note", text: "cannot list its dependencies: forbidden" }, children: [] });
});

const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment", namespace: "n", name: "web" };

test("readExtensionTree contains kind, namespace, name, state and message of each object, or why it cannot be read", async () => {
  const entry = (kind: string) => ({ group: "apps", version: "v1", kind, namespace: "n", name: "web" });
  const objects = [entry("Deployment"), entry("ControllerRevision"), entry("StatefulSet"), entry("DaemonSet")];
  const a = { ...createExtension("a", { packageName: "a" }), status: { inventory: { count: 6, objects } } };
  const owned = (uid: string) => [{ apiVersion: "v1", kind: "Owner", name: "owner", uid, controller: true }];
  const metadata = { name: "web", namespace: "n", uid: "u1" };
  const set = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { ...metadata, name: "web-1", uid: "u2", ownerReferences: owned("u1") },
  };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, name: "web-1-x", uid: "u3", ownerReferences: owned("u2") },
    status: { phase: "" },
  };
  const client = {
    get: ({ kind }: { kind: string }) => {
      if (kind === "ClusterExtension") return Promise.resolve(a);
      if (kind === "DaemonSet") return Promise.reject(new Error("forbidden"));
      if (kind === "StatefulSet") return Promise.resolve(undefined);
      const spec = kind === "Deployment" ? { selector: { matchLabels: { app: "web" } }, replicas: 1 } : {};
      return Promise.resolve({ apiVersion: "apps/v1", kind, metadata, spec });
    },
    list: ({ kind }: { kind: string }) => Promise.resolve({ items: kind === "ReplicaSet" ? [set] : kind === "Pod" ? [pod] : [a] }),
  };
  const { subject, children } = await readExtensionTree(client as never, "a", OPTIONS);
  expect(subject).toEqual({ kind: "extension", name: "a", bundle: undefined, state: "notReconciled", reason: "", message: "" });
  const [deployment, revision, ...rest] = children;
  expect(deployment?.subject).toMatchObject({ kind: "object", ref: DEPLOYMENT, state: "progressing" });
  expect(deployment?.children).toMatchObject([
    {
      subject: { ref: { kind: "ReplicaSet", namespace: "n", name: "web-1" } },
      children: [
        {
          subject: {
            ref: { apiVersion: "v1", kind: "Pod", namespace: "n", name: "web-1-x" },
            state: "progressing",
            message: "no kubelet has reported its status yet",
          },
        },
      ],
    },
  ]);
  expect(revision?.subject).toMatchObject({ ref: { kind: "ControllerRevision" }, state: "present", message: "" });
  expect(rest.map((one) => one.subject)).toEqual([
    { kind: "object", ref: { ...DEPLOYMENT, kind: "StatefulSet" }, state: "missing", message: "" },
    { kind: "object", ref: { ...DEPLOYMENT, kind: "DaemonSet" }, state: "unreadable", message: "cannot read it: forbidden" },
    { kind: "omitted", count: 2 },
  ]);
});
