import { expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { TinyPackage } from "../bench/many/tinyPackage.ts";
import type { ClusterState } from "./clusterState.ts";
import { listDifferences, listLosses, listPermissionChanges } from "./invariants.ts";
import type { SoakPackage } from "./soakPackages.ts";

const VERSION = "1.0.3";
const tiny = new TinyPackage(0);
const { name } = tiny;
const PACKAGES: SoakPackage[] = [{ tiny, name, catalog: 0, isManaged: false, bundles: [{ version: VERSION, image: "i" }], next: 4 }];

const object = (kind: string, uid: string, more: object): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name, namespace: name, uid },
  ...more,
});
const deployment = (uid: string, version: string, replicas = 1, availableReplicas = 1): KubeObject =>
  object("Deployment", uid, {
    spec: { replicas, template: { spec: { containers: [{ image: `registry.example.com/${name}:v${version}` }] } } },
    status: { availableReplicas },
  });
const configMap = (uid: string, version: string, more = {}): KubeObject =>
  object("ConfigMap", uid, { data: { greeting: "", version, ...more } });

function extension(version: string, ready = "True"): ClusterExtension {
  const condition = (type: string, status: string, reason: string): object => ({
    type,
    status,
    reason,
    message: "",
    observedGeneration: 1,
  });
  const conditions = [
    condition("Installed", "True", "Succeeded"),
    condition("Progressing", "True", "Succeeded"),
    condition("Ready", ready, "Healthy"),
  ];
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name, generation: 1 },
    status: { conditions, install: { bundle: { name: tiny.bundleName(version), version } } },
  } as unknown as ClusterExtension;
}

const STATE: ClusterState = {
  extensions: new Map([[name, extension(VERSION)]]),
  deployments: new Map([[name, [deployment("d1", VERSION)]]]),
  configMaps: new Map([[name, [configMap("c1", VERSION)]]]),
  releases: new Map([
    [
      name,
      [
        { number: "1", status: "superseded" },
        { number: "2", status: "deployed" },
      ],
    ],
  ]),
  userData: new Map([["ConfigMap x/user-data", "u1"]]),
  bindings: [`${name}/a: ClusterRole r in the cluster`],
  permissions: [`${name}/a: get secrets. in the cluster`],
};
const withState = (more: Partial<ClusterState>): ClusterState => ({ ...STATE, ...more });

test.for<[string, Partial<ClusterState>, string[]]>([
  ["nothing for the expected state", {}, []],
  ["a missing extension", { extensions: new Map() }, ["ClusterExtension tiny-0000 does not exist"]],
  ["an extension that is not ready", { extensions: new Map([[name, extension(VERSION, "False")]]) }, ["tiny-0000 is not ready"]],
  [
    "a Deployment of another version",
    { deployments: new Map([[name, [deployment("d1", "1.0.2")]]]) },
    ["Deployment tiny-0000 is not that of 1.0.3: registry.example.com/tiny-0000:v1.0.2, 1 replicas"],
  ],
  [
    "a Deployment that another client has scaled",
    { deployments: new Map([[name, [deployment("d1", VERSION, 3)]]]) },
    ["Deployment tiny-0000 is not that of 1.0.3: registry.example.com/tiny-0000:v1.0.3, 3 replicas"],
  ],
  [
    "a Deployment without a Pod",
    { deployments: new Map([[name, [deployment("d1", VERSION, 1, 0)]]]) },
    ["Deployment tiny-0000 has no available Pod"],
  ],
  ["a missing ConfigMap", { configMaps: new Map() }, ["ConfigMap tiny-0000 is not that of 1.0.3"]],
  [
    "a ConfigMap with a foreign key",
    { configMaps: new Map([[name, [configMap("c1", VERSION, { more: "" })]]]) },
    ["ConfigMap tiny-0000 is not that of 1.0.3"],
  ],
  [
    "two Deployments",
    { deployments: new Map([[name, [deployment("d1", VERSION), deployment("d2", VERSION)]]]) },
    ["tiny-0000 has an object twice"],
  ],
  [
    "a release that is pending",
    {
      releases: new Map([
        [
          name,
          [
            { number: "10", status: "pending-upgrade" },
            { number: "9", status: "deployed" },
          ],
        ],
      ]),
    },
    ["the newest release of tiny-0000 is pending-upgrade"],
  ],
  [
    "two deployed releases",
    {
      releases: new Map([
        [
          name,
          [
            { number: "1", status: "deployed" },
            { number: "2", status: "deployed" },
          ],
        ],
      ]),
    },
    ["tiny-0000 has 2 deployed releases"],
  ],
  [
    "two releases of one number",
    {
      releases: new Map([
        [
          name,
          [
            { number: "2", status: "deployed" },
            { number: "2", status: "superseded" },
          ],
        ],
      ]),
    },
    ["tiny-0000 has a release twice"],
  ],
])("listDifferences returns %s", ([, state, want]) => {
  expect(listDifferences(withState(state), PACKAGES)).toEqual(want);
});

test("listDifferences returns the progress of an extension without the wanted version", () => {
  expect(listDifferences(withState({ extensions: new Map([[name, extension("1.0.2")]]) }), PACKAGES)).toEqual([
    "tiny-0000 has not installed 1.0.3: installed 1.0.2, Progressing True Succeeded: ",
  ]);
});

test.for<[string, Partial<ClusterState>, string[]]>([
  ["nothing without a change", {}, []],
  [
    "deleted data of users, also of extensions that change",
    { userData: new Map() },
    ["ConfigMap x/user-data, data of a user, does not exist any more"],
  ],
  [
    "recreated data of users",
    { userData: new Map([["ConfigMap x/user-data", "u2"]]) },
    ["ConfigMap x/user-data, data of a user, was recreated"],
  ],
  ["a deleted extension", { extensions: new Map() }, ["ClusterExtension tiny-0000 does not exist"]],
  [
    "a recreated Deployment",
    { deployments: new Map([[name, [deployment("d2", VERSION)]]]) },
    ["an object of tiny-0000 in deployments was deleted or recreated"],
  ],
  [
    "a second ConfigMap",
    { configMaps: new Map([[name, [configMap("c1", VERSION), configMap("c2", VERSION)]]]) },
    ["tiny-0000 has 2 configMaps"],
  ],
])("listLosses returns %s", ([, state, want]) => {
  expect(listLosses(STATE, withState(state), PACKAGES, new Set())).toEqual(want);
});

test("listLosses accepts deletions of objects of extensions that the run changes", () => {
  expect(listLosses(STATE, withState({ extensions: new Map(), deployments: new Map() }), PACKAGES, new Set([name]))).toEqual([]);
});

test("listPermissionChanges returns new and lost roles and permissions", () => {
  const after = withState({
    bindings: [`${name}/a: ClusterRole cluster-admin in the cluster`],
    permissions: [...STATE.permissions, `${name}/a: * *.* in the cluster`],
  });
  expect(listPermissionChanges(STATE, STATE)).toEqual([]);
  const twice = withState({ bindings: [...STATE.bindings, ...STATE.bindings] });
  expect(listPermissionChanges(STATE, twice)).toEqual(["new role: tiny-0000/a: ClusterRole r in the cluster"]);
  expect(listPermissionChanges(STATE, after)).toEqual([
    "lost role: tiny-0000/a: ClusterRole r in the cluster",
    "new role: tiny-0000/a: ClusterRole cluster-admin in the cluster",
    "new permission: tiny-0000/a: * *.* in the cluster",
  ]);
});
