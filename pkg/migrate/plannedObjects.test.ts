import { expect, test } from "vitest";
import type { GroupVersionKind, JsonObject, KubeObject } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import { listInstallPlans, readPlannedObjects } from "./plannedObjects.ts";

const { signal } = new AbortController();
const GROUP = "operators.coreos.com";

function object(kind: string, version: string, name: string, body: JsonObject = {}): KubeObject {
  return { apiVersion: `${GROUP}/${version}`, kind, metadata: { name, namespace: "operators" }, ...body };
}

/** A step of an InstallPlan. */
function step(resolving: string | undefined, name: string, status: string, parts: JsonObject = {}): JsonObject {
  const resource = { group: "", version: "v1", kind: "ServiceAccount", name, ...parts };
  return { ...(resolving === undefined ? {} : { resolving }), resource, status };
}

/** A client of a cluster that serves the kinds of its objects, in the versions of its objects. */
function clientWith(...objects: KubeObject[]): Client {
  const list = ({ apiVersion, kind }: GroupVersionKind): Promise<{ items: KubeObject[] }> => {
    const items = objects.filter((one) => one.kind === kind && one.apiVersion === apiVersion);
    return items.length > 0 ? Promise.resolve({ items }) : Promise.reject(new KindNotServed(apiVersion, kind));
  };
  return { list } as unknown as Client;
}

test.for<{ name: string; plans: KubeObject[]; want: string[] }>([
  { name: "OLM v0 is not installed", plans: [], want: [] },
  { name: "only v1alpha1 is served", plans: [object("InstallPlan", "v1alpha1", "install-a")], want: ["install-a"] },
  {
    name: "two versions serve the same InstallPlan",
    plans: ["v1alpha1", "v1"].flatMap((version) => [
      object("InstallPlan", version, "install-a"),
      object("InstallPlan", version, "install-b"),
    ]),
    want: ["install-a", "install-b"],
  },
])("listInstallPlans lists each InstallPlan once when $name", async ({ plans, want }) => {
  const found = await listInstallPlans(clientWith(...plans), "operators", signal);
  expect(found.map(({ metadata }) => metadata.name)).toEqual(want);
});

test("listInstallPlans reports an error of the API server", async () => {
  const client = { list: () => Promise.reject(new Error("denied")) } as unknown as Client;
  await expect(listInstallPlans(client, "operators", signal)).rejects.toThrow("denied");
});

test.for<{ name: string; steps: unknown; own: number; others: string[] }>([
  { name: "it created the object", steps: [step("a.v1", "x", "Created")], own: 1, others: [] },
  { name: "the object was present", steps: [step("a.v1", "x", "Present")], own: 1, others: [] },
  { name: "it has not created the object", steps: [step("a.v1", "x", "NotPresent"), step("a.v1", "y", "Unknown")], own: 0, others: [] },
  { name: "it created the object for another existing operator", steps: [step("b.v1", "x", "Created")], own: 0, others: ["b.v1"] },
  { name: "it created the object for an operator that no longer exists", steps: [step("c.v1", "x", "Created")], own: 0, others: [] },
  {
    name: "the step names no operator or no object",
    steps: [step(undefined, "x", "Created"), step("a.v1", "", "Created")],
    own: 0,
    others: [],
  },
  { name: "the plan is malformed", steps: "none", own: 0, others: [] },
])("readPlannedObjects attributes objects of an InstallPlan when $name", async ({ steps, own, others }) => {
  const client = clientWith(
    object("ClusterServiceVersion", "v1alpha1", "a.v1"),
    object("ClusterServiceVersion", "v1alpha1", "b.v1"),
    object("InstallPlan", "v1alpha1", "install-a", { status: { plan: steps } }),
  );
  const planned = await readPlannedObjects(client, { namespace: "operators", name: "a.v1" }, signal);
  expect([planned.own.size, [...planned.others.values()]]).toEqual([own, others]);
});
