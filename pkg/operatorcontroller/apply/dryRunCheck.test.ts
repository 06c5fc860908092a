import { expect, test } from "vitest";
import { KubeError } from "../../kube/errors.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import type { ObjectFailure } from "./applier.ts";
import { findMissingNamespaces, newNamespacesError } from "./dryRunCheck.ts";
import { formatPreflightFinding } from "./preflightRequest.ts";

const object = (name: string, namespace: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace } });
const newFailure = (name: string, namespace: string): ObjectFailure => {
  const err = new KubeError(`namespaces "${namespace}" not found`, {
    status: 404,
    reason: "NotFound",
    details: { name: namespace, kind: "namespaces" },
  });
  return { item: object(name, namespace), err };
};
const another: ObjectFailure = {
  item: object("x", "b"),
  err: new KubeError('configmaps "x" not found', { status: 404, reason: "NotFound" }),
};

test("findMissingNamespaces returns one finding for each missing namespace, sorted by name, and ignores other failures", () => {
  const found = findMissingNamespaces([newFailure("1", "b"), another, newFailure("2", "a"), newFailure("3", "b")], { namespace: "ns" });
  expect(found).toMatchObject([
    {
      kind: "namespace",
      message: 'namespace "a" does not exist, so 1 object cannot be created',
      problems: [{ type: "NamespaceNotFound", details: { namespaces: ["a"] } }],
    },
    {
      kind: "namespace",
      message: 'namespace "b" does not exist, so 2 objects cannot be created',
      problems: [{ type: "NamespaceNotFound", details: { namespaces: ["b"] } }],
    },
  ]);
});

test.for<[where: string, inline: Record<string, unknown> | undefined, namespace: string, advice: string]>([
  ["where the extension is installed", undefined, "ns", "create the namespace"],
  [
    "that the operator watches",
    { watchNamespace: "a" },
    "a",
    "create the namespace, or set spec.config.inline.watchNamespace to an existing namespace",
  ],
  [
    "in a list of watched namespaces",
    { watchNamespaces: ["b", "a"] },
    "a",
    "create the namespace, or remove it from spec.config.inline.watchNamespaces",
  ],
  ["in another field", { watchNamespaces: "a" }, "a", "create the namespace, or remove it from the extension's configuration"],
])("findMissingNamespaces suggests a fix when the missing namespace is the one %s", ([, inline, namespace, advice]) => {
  const spec = { namespace: "ns", ...(inline ? { config: { configType: "Inline" as const, inline } } : {}) };
  expect(findMissingNamespaces([newFailure("1", namespace)], spec).map(formatPreflightFinding)).toEqual([
    `namespace "${namespace}" does not exist, so 1 object cannot be created: ${advice}`,
  ]);
});

test("newNamespacesError returns an error that lists all missing namespaces, and is over when the first of them exists", async () => {
  const asked: string[] = [];
  const applier = {
    untilNot: (isRefusal: (err: unknown) => boolean, { metadata }: { metadata: { name: string } }) => {
      asked.push(metadata.name, String(isRefusal(newFailure("", "a").err)), String(isRefusal(another.err)));
      return () => Promise.resolve(true);
    },
  };
  const failures = [another, newFailure("2", "b"), newFailure("3", "a")];
  const tried = failures.map(({ item }) => item as ReturnType<typeof object>);
  const spec = { namespace: "ns" };
  const error = newNamespacesError(findMissingNamespaces(failures, spec), failures, tried, applier);
  expect(error).toBeInstanceOf(WaitingError);
  expect(error?.message).toMatch(/^namespace "a" does not exist, .*; namespace "b" does not exist, /);
  expect(asked).toEqual(["2", "true", "false"]);
  expect(await error?.isOver(new AbortController().signal)).toBe(true);
  expect(newNamespacesError([], [another], tried, applier)).toBeUndefined();
});
