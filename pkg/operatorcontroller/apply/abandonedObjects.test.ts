import { expect, test } from "vitest";
import { refusal } from "../../../test/support/extensionFakes.ts";
import type { KubeObject, OwnerReference } from "../../api/k8s.ts";
import type { ListOptions } from "../../kube/request.ts";
import { AbandonedObjects } from "./abandonedObjects.ts";

const CRD: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.com" },
};
const COMPONENT = { "operators.coreos.com/p.ns": "" };
const OWNED = { "olm.owner": "p.v1", "olm.owner.namespace": "ns", "olm.owner.kind": "ClusterServiceVersion" };
const MANAGED = { "olm.managed": "true" };
const AGGREGATED = { ...MANAGED, "olm.opgroup.permissions/aggregate-to-1a-admin": "true" };
const ofCrd: OwnerReference = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "customresourcedefinition",
  name: CRD.metadata.name,
  uid: "1",
};
const ofCsv: OwnerReference = { apiVersion: "operators.coreos.com/v1alpha1", kind: "ClusterServiceVersion", name: "p.v1", uid: "2" };

interface AbandonedCase {
  labels: Record<string, string>;
  owners?: OwnerReference[];
  namespace?: string;
  /** The kinds that exist for each selection, or the error of a list. */
  exists?: string[];
  forbidden?: boolean;
  want: boolean;
}

const CASES: [name: string, AbandonedCase][] = [
  ["the ClusterServiceVersion in the owner labels does not exist", { labels: OWNED, want: true }],
  [
    "the ClusterServiceVersion in the owner labels exists",
    { labels: OWNED, exists: ["ClusterServiceVersion ns metadata.name=p.v1"], want: false },
  ],
  ["no object has the component label", { labels: COMPONENT, want: true }],
  ["a Subscription has the component label", { labels: COMPONENT, exists: ["Subscription  operators.coreos.com/p.ns"], want: false }],
  ["listing is forbidden", { labels: COMPONENT, forbidden: true, want: false }],
  ["a ServiceAccount has only the label olm.managed, and its namespace has no operator", { labels: MANAGED, namespace: "ns", want: true }],
  [
    "a ServiceAccount has only the label olm.managed, and its namespace has a Subscription",
    { labels: MANAGED, namespace: "ns", exists: ["Subscription ns "], want: false },
  ],
  [
    "a role for users belongs to a CRD of the release",
    { labels: AGGREGATED, owners: [ofCrd], exists: ["ClusterServiceVersion  "], want: true },
  ],
  ["a role for users belongs to another CRD", { labels: AGGREGATED, owners: [{ ...ofCrd, name: "others.example.com" }], want: false }],
  ["the owner reference to a ClusterServiceVersion remains", { labels: OWNED, owners: [ofCsv], want: false }],
  ["another object controls it", { labels: OWNED, owners: [{ ...ofCrd, controller: true }], want: false }],
  ["it has no mark of OLM v0", { labels: {}, want: false }],
];

test.for(CASES)("AbandonedObjects decides when %s", async ([, { labels, owners = [], namespace, exists = [], forbidden, want }]) => {
  const list = ({ kind }: { kind: string }, { namespace: where = "", labelSelector, fieldSelector }: ListOptions = {}): Promise<never> => {
    if (forbidden) return Promise.reject(refusal(403, "Forbidden", "no"));
    const selector = labelSelector === "!olm.copiedFrom" ? "" : (labelSelector ?? fieldSelector ?? "");
    const items = exists.includes(`${kind} ${where} ${selector}`) ? [{}] : [];
    return Promise.resolve({ items, resourceVersion: "" } as never);
  };
  const live: KubeObject = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "a", labels, ownerReferences: owners, ...(namespace === undefined ? {} : { namespace }) },
  };
  const abandoned = new AbandonedObjects({ list }, [CRD], new AbortController().signal);
  expect(await abandoned.contains(live)).toBe(want);
});
