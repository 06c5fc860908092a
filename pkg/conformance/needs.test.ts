import { expect, test, vi } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { KindNotServed } from "../kube/errors.ts";
import type { ListResult } from "../kube/request.ts";
import { ClusterNeeds } from "./needs.ts";

const NAME = "app.kubernetes.io/name";
const deployment = (name: string, replicas: number): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "system", labels: { [NAME]: name } },
  spec: { replicas, selector: { matchLabels: { [NAME]: name } } },
});
const pod = (name: string, of: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "system", labels: { [NAME]: of } },
});
const lease = (name: string, holderIdentity: string): KubeObject => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name, namespace: "system" },
  spec: { holderIdentity },
});
const service = (name: string, ports: object[]): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: `${name}-service`, namespace: "system", labels: { [NAME]: name } },
  spec: { type: "ExternalName", externalName: name === "remote" ? "host.invalid" : "localhost", ports },
});

const OBJECTS: readonly KubeObject[] = [
  deployment("catalogd", 2),
  pod("catalogd-1", "catalogd"),
  lease("catalogd", "catalogd-1_0123"),
  deployment("operator-controller", 1),
  deployment("leaderless", 2),
  pod("leaderless-1", "leaderless"),
  service("catalogd", [
    { name: "https", port: 443 },
    { name: "metrics", port: 7443 },
  ]),
  service("operator-controller", [{ name: "https", port: 8443 }]),
  service("other", [
    { name: "a", port: 1 },
    { name: "b", port: 2 },
  ]),
  service("remote", [{ port: 1 }]),
];
const SERVED = ["Node", ...OBJECTS.map(({ kind }) => kind)];

/** Serves the objects, Nodes without objects, and a definition with field spec.suspend. */
class FakeCluster {
  list<T extends KubeObject>(
    { apiVersion, kind }: { apiVersion: string; kind: string },
    { labelSelector }: { labelSelector?: string } = {},
  ): Promise<ListResult<T>> {
    if (!SERVED.includes(kind)) return Promise.reject(new KindNotServed(apiVersion, kind));
    const isSelected = ({ metadata }: KubeObject): boolean =>
      labelSelector === undefined || labelSelector === `${NAME}=${metadata.labels?.[NAME]}`;
    const items = OBJECTS.filter((object) => object.kind === kind && isSelected(object));
    return Promise.resolve({ items: items as T[], resourceVersion: "1" });
  }

  /** Answers a SelfSubjectAccessReview. */
  raw(): Promise<unknown> {
    return Promise.resolve({ status: { allowed: true } });
  }

  get<T extends KubeObject>(): Promise<T | undefined> {
    const openAPIV3Schema = { properties: { spec: { properties: { suspend: {} } } } };
    const crd = { apiVersion: "x", kind: "x", metadata: { name: "x" }, spec: { versions: [{ schema: { openAPIV3Schema } }] } };
    return Promise.resolve(crd as KubeObject as T);
  }
}

test.for<[need: string, missing: string[]]>([
  ["kind v1 Node", []],
  ["kind example.com/v1 Thing", ["the API server does not serve example.com/v1 Thing"]],
  ["field ClusterExtension.spec.suspend", []],
  ["field ClusterExtension.spec.drift", ["ClusterExtension has no field spec.drift"]],
  ["no kind example.com/v1 Thing", []],
  ["no kind v1 Node", ["the API server serves v1 Node"]],
  ["server catalogd", []],
  ["server console", ["no Deployment has label app.kubernetes.io/name=console"]],
  ["replicas catalogd", []],
  ["replicas operator-controller", ["Deployment operator-controller has fewer than two replicas"]],
  ["replicas leaderless", ["no Lease names a Pod of leaderless"]],
  ["metrics catalogd", []],
  ["metrics operator-controller", []],
  ["metrics other", ["no Service with label app.kubernetes.io/name=other has a port metrics"]],
  ["proxy", ["Proxy cluster has no status.httpProxy"]],
  ["kind example.com/v1 Thing | field ClusterExtension.spec.suspend", []],
  ["kind example.com/v1 Thing | proxy", ["the API server does not serve example.com/v1 Thing, and Proxy cluster has no status.httpProxy"]],
])("findMissing returns the reasons for need %s", async ([need, missing]) => {
  expect(await new ClusterNeeds(new FakeCluster(), new AbortController().signal).findMissing([need])).toEqual(missing);
});

test("findMissing reports that metrics can only be reached from the cluster", async () => {
  const [reason] = await new ClusterNeeds(new FakeCluster(), new AbortController().signal).findMissing(["metrics remote"]);
  expect(reason).toMatch(/^cannot resolve host\.invalid \(.*\)\. Run the tests in the cluster, as a Job$/);
});

test("findMissing asks again for a need only when the request failed", async () => {
  const cluster = new FakeCluster();
  const list = vi.spyOn(cluster, "list").mockRejectedValueOnce(new Error("etcdserver: leader changed"));
  const needs = new ClusterNeeds(cluster, new AbortController().signal);
  await expect(needs.findMissing(["kind v1 Node"])).rejects.toThrow("etcdserver: leader changed");
  for (let times = 0; times < 2; times++) expect(await needs.findMissing(["kind v1 Node"])).toEqual([]);
  expect(list).toHaveBeenCalledTimes(2);
});

test("findMissing rejects an unknown need", async () => {
  await expect(new ClusterNeeds(new FakeCluster(), new AbortController().signal).findMissing(["money"])).rejects.toThrow(
    'unknown need "money"',
  );
});
