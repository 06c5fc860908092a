import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { type CountedObject, findExceededQuotas, formatExceededQuota } from "./quota.ts";

const quota = (hard: Record<string, string>, used: Record<string, string> = {}, spec: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "q", namespace: "ns" },
  spec: { hard, ...spec },
  status: { hard, used },
});
const counted = (resource: string, group = "", spec: object = {}, namespace = "ns"): CountedObject => ({
  object: { apiVersion: group === "" ? "v1" : `${group}/v1`, kind: "K", metadata: { name: "n", namespace }, spec },
  group,
  resource,
});
const configMaps = (count: number): CountedObject[] => Array.from({ length: count }, () => counted("configmaps"));
const nodePorts = { type: "NodePort", ports: [{ port: 1 }, { port: 2 }] };
const balancer = { type: "LoadBalancer", ports: [{ port: 1 }, { port: 2, nodePort: 30_000 }] };

// Source: k8s.io/kubernetes v1.36.0 pkg/quota/v1/evaluator/core/services_test.go, k8s.io/apiserver v0.36.3 pkg/quota/v1/generic
test.for<[what: string, quota: KubeObject, created: CountedObject[], text: string | undefined]>([
  ["they fit exactly", quota({ "count/configmaps": "3" }, { "count/configmaps": "1" }), configMaps(2), undefined],
  [
    "there is one too many",
    quota({ "count/configmaps": "3" }, { "count/configmaps": "1" }),
    configMaps(3),
    "exceeded quota: q, requested: count/configmaps=3, used: count/configmaps=1, limited: count/configmaps=3",
  ],
  [
    "they also count under the bare name, while another resource fits",
    quota({ configmaps: "1", "count/configmaps": "1", secrets: "9" }),
    configMaps(2),
    "exceeded quota: q, requested: configmaps=2,count/configmaps=2, used: configmaps=0,count/configmaps=0, limited: configmaps=1,count/configmaps=1",
  ],
  [
    "they are of the counted group",
    quota({ "count/deployments.apps": "1" }, { "count/deployments.apps": "1" }),
    [counted("deployments", "apps")],
    "exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=1, limited: count/deployments.apps=1",
  ],
  [
    "they are of another group",
    quota({ "count/deployments.apps": "0", configmaps: "0" }),
    [counted("configmaps", "example.com")],
    undefined,
  ],
  ["they are in another namespace", quota({ configmaps: "0" }), [counted("configmaps", "", {}, "other")], undefined],
  ["the quota has scopes", quota({ configmaps: "0" }, {}, { scopes: ["NotTerminating"] }), configMaps(1), undefined],
  ["the quota has a scope selector", quota({ configmaps: "0" }, {}, { scopeSelector: { matchExpressions: [] } }), configMaps(1), undefined],
  ["the limit has a suffix", quota({ configmaps: "1k" }, { configmaps: "999" }), configMaps(1), undefined],
  ["the limit is invalid", quota({ configmaps: "many" }), configMaps(1), undefined],
  ["the limit is for requests of Pods", quota({ "requests.cpu": "1", pods: "0" }), [counted("deployments", "apps")], undefined],
  [
    "they open node ports",
    quota({ "services.nodeports": "1", "services.loadbalancers": "0" }),
    [counted("services", "", nodePorts)],
    "exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1",
  ],
  [
    "a load balancer only has the node ports that it names",
    quota({ "services.nodeports": "0", "services.loadbalancers": "0" }),
    [counted("services", "", { ...balancer, allocateLoadBalancerNodePorts: false })],
    "exceeded quota: q, requested: services.loadbalancers=1,services.nodeports=1, used: services.loadbalancers=0,services.nodeports=0, limited: services.loadbalancers=0,services.nodeports=0",
  ],
  ["there is no load balancer", quota({ "services.loadbalancers": "0" }), [counted("services", "", nodePorts)], undefined],
])("findExceededQuotas compares the created objects with the quota: %s", ([, of, created, text]) => {
  const [exceeded] = findExceededQuotas([of], created);
  expect(exceeded && formatExceededQuota(exceeded)).toBe(text);
});

test("findExceededQuotas lists the objects that count towards the exceeded quota", () => {
  const created = [...configMaps(1), counted("secrets")];
  expect(findExceededQuotas([quota({ configmaps: "0" })], created)).toMatchObject([
    { namespace: "ns", name: "q", objects: [created[0]?.object] },
  ]);
});
