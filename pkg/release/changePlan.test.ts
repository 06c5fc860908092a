import { describe, expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { computeChangePlan, countActions, digestPlan } from "./changePlan.ts";
import { describeObject, getObjectKey } from "./identity.ts";
import { withBundleLabels } from "./labels.ts";

const config = (name: string, value: string): KubeObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { value } });
const byKey = (...objects: KubeObject[]): Map<string, KubeObject> => new Map(objects.map((object) => [getObjectKey(object), object]));

// Source: the output of `status.plan` and `olmv1 plan`.
describe("computeChangePlan", () => {
  test("computeChangePlan lists each object with its action, changed objects first", () => {
    const plan = computeChangePlan({
      digest: "sha256:x",
      desired: [config("same", "1"), config("new", "1"), config("changed", "2"), config("defaulted", "1")],
      live: byKey(config("same", "1"), config("changed", "1"), config("defaulted", "1"), config("gone", "1")),
      after: byKey(config("same", "1"), config("new", "1"), config("changed", "2"), config("defaulted", "by the server")),
      leaving: [config("gone", "1")],
      widens: (before) => before === undefined,
    });
    expect(
      plan.objects.map(({ action, ref, changes, widens }) => [action, describeObject(ref), changes.map(({ path }) => path), widens]),
    ).toEqual([
      ["Create", "ConfigMap new", [], true],
      ["Update", "ConfigMap changed", ["data.value"], false],
      ["Update", "ConfigMap defaulted", ["data.value"], false],
      ["Delete", "ConfigMap gone", [], false],
      ["Unchanged", "ConfigMap same", [], false],
    ]);
    expect(countActions(plan)).toEqual({ Create: 1, Update: 2, Delete: 1, Unchanged: 1 });
  });

  test("computeChangePlan uses the desired object when there is no dry-run result", () => {
    const desired = [config("a", "2")];
    const plan = computeChangePlan({
      digest: "",
      desired,
      live: byKey(config("a", "1")),
      after: new Map(),
      leaving: [],
      widens: () => false,
    });
    expect(plan.objects).toMatchObject([{ action: "Update", changes: [{ path: "data.value", before: '"1"', after: '"2"' }] }]);
  });

  test("computeChangePlan reports how many objects only get new bundle labels, and does not list these changes", () => {
    const at = (version: string, object: KubeObject): KubeObject => withBundleLabels(object, { packageName: "p", version });
    const desired = [config("same", "1"), config("changed", "2"), config("unlabelled", "1")].map((object) => at("2.0.0", object));
    const live = byKey(at("1.0.0", config("same", "1")), at("1.0.0", config("changed", "1")), config("unlabelled", "1"));
    const plan = computeChangePlan({ digest: "", desired, live, after: new Map(), leaving: [], widens: () => false });
    expect(plan.objects.map(({ action, ref, changes }) => [action, ref.name, changes.map(({ path }) => path)])).toEqual([
      ["Update", "changed", ["data.value"]],
      ["Unchanged", "same", []],
      ["Unchanged", "unlabelled", []],
    ]);
    expect(plan.relabeled).toBe(2);
  });

  test("digestPlan depends on the bundle, the configuration and the deployed release, but not on the order of objects", () => {
    const base = { inputDigest: "i", rendered: [config("a", "1"), config("b", "1")], base: 3 };
    const digest = digestPlan(base);
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(digestPlan({ ...base, rendered: base.rendered.toReversed() })).toBe(digest);
    const others = [
      { ...base, inputDigest: "j" },
      { ...base, inputDigest: undefined },
      { ...base, base: 4 },
      { ...base, rendered: [config("a", "2"), config("b", "1")] },
    ];
    expect(new Set([digest, ...others.map(digestPlan)]).size).toBe(5);
  });
});
