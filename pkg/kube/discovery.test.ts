import { expect, test } from "vitest";
import { Discovery } from "./discovery.ts";
import { KindNotServed, KubeError } from "./errors.ts";
import { formatResourcePath } from "./request.ts";

const APPS = {
  resources: [
    { name: "deployments/scale", kind: "Scale", namespaced: true },
    { name: "deployments", kind: "Deployment", namespaced: true, verbs: ["get"] },
  ],
};
const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment" };

function discovery(answers: Record<string, object | undefined>): { discovery: Discovery; paths: string[]; answers: typeof answers } {
  const paths: string[] = [];
  const read = (path: string): Promise<object | undefined> => {
    paths.push(path);
    return Promise.resolve(answers[path]);
  };
  return { discovery: new Discovery(read), paths, answers };
}

test("discovery reads a group version once for all its kinds and callers", async () => {
  const { discovery: d, paths } = discovery({ "/apis/apps/v1": APPS });
  const [first, second] = await Promise.all([d.resourceFor(DEPLOYMENT), d.resourceFor(DEPLOYMENT)]);
  expect(await d.resourceFor(DEPLOYMENT)).toBe(first);
  expect(second).toBe(first);
  expect(first).toEqual({ group: "apps", version: "v1", resource: "deployments", kind: "Deployment", namespaced: true, verbs: ["get"] });
  expect(paths).toEqual(["/apis/apps/v1"]);
});

test("discovery finds a kind that is added later in the next lookup", async () => {
  const { discovery: d, answers, paths } = discovery({});
  await expect(d.resourceFor(DEPLOYMENT)).rejects.toThrow('no matches for kind "Deployment" in version "apps/v1"');
  await expect(d.resourceFor(DEPLOYMENT)).rejects.toBeInstanceOf(KindNotServed);
  answers["/apis/apps/v1"] = APPS;
  expect((await d.resourceFor(DEPLOYMENT)).resource).toBe("deployments");
  expect(paths).toHaveLength(3);
});

test("discovery ignores the kinds of subresources", async () => {
  const { discovery: d } = discovery({ "/apis/apps/v1": APPS });
  await expect(d.resourceFor({ apiVersion: "apps/v1", kind: "Scale" })).rejects.toBeInstanceOf(KindNotServed);
});

test("discovery reads a group version again after forget", async () => {
  const { discovery: d, answers } = discovery({ "/apis/apps/v1": APPS });
  await d.resourceFor(DEPLOYMENT);
  delete answers["/apis/apps/v1"];
  await d.resourceFor(DEPLOYMENT);
  d.forget("apps/v1");
  await expect(d.resourceFor(DEPLOYMENT)).rejects.toBeInstanceOf(KindNotServed);
});

test("discovery does not cache a failed read", async () => {
  let fail = true;
  const d = new Discovery(() => (fail ? Promise.reject(new Error("refused")) : Promise.resolve(APPS)));
  await expect(d.resourceFor(DEPLOYMENT)).rejects.toThrow("refused");
  fail = false;
  expect((await d.resourceFor(DEPLOYMENT)).kind).toBe("Deployment");
});

const CRD = { group: "g.io", version: "v1", resource: "things", kind: "Thing", namespaced: true, verbs: [] };
const CORE = { group: "", version: "v1", resource: "nodes", kind: "Node", namespaced: false, verbs: [] };

test.for<[string, string]>([
  [
    formatResourcePath({ apiVersion: "g.io/v1", kind: "Thing" }, CRD, { namespace: "a", name: "x:Y" }),
    "/apis/g.io/v1/namespaces/a/things/x%3AY",
  ],
  [formatResourcePath({ apiVersion: "g.io/v1", kind: "Thing" }, CRD, {}), "/apis/g.io/v1/things"],
  [
    formatResourcePath({ apiVersion: "v1", kind: "Node" }, CORE, { namespace: "ignored", name: "n", subresource: "status" }),
    "/api/v1/nodes/n/status",
  ],
  [
    formatResourcePath({ apiVersion: "v1", kind: "Node" }, CORE, {}, { labelSelector: "a=b,c", limit: 5, force: undefined, watch: true }),
    "/api/v1/nodes?labelSelector=a%3Db%2Cc&limit=5&watch=true",
  ],
])("formatResourcePath returns %s", ([got, want]) => {
  expect(got).toBe(want);
});

test("formatResourcePath requires the namespace of a namespaced object", () => {
  expect(() => formatResourcePath({ apiVersion: "g.io/v1", kind: "Thing" }, CRD, { name: "x" })).toThrow('Thing "x": no namespace given');
});

test("discovery failure of one group version does not affect other group versions", async () => {
  const d = new Discovery((path) =>
    path === "/apis/down.io/v1" ? Promise.reject(new KubeError("service unavailable", { status: 503, reason: "" })) : Promise.resolve(APPS),
  );
  await expect(d.resourceFor({ apiVersion: "down.io/v1", kind: "Flunder" })).rejects.toThrow("service unavailable");
  expect((await d.resourceFor(DEPLOYMENT)).resource).toBe("deployments");
});
