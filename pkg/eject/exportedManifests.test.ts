import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { parseYaml } from "../golang/yaml.ts";
import { buildHelmChart, buildKustomization, formatNextCommand } from "./exportedManifests.ts";
import { buildDetachPatch } from "./ownMarks.ts";

const MARKS = { "olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "a" };
const OWNER = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "a", uid: "u", controller: true };
const CONFIG_MAP: KubeObject = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "text", namespace: "n", labels: MARKS, ownerReferences: [OWNER] },
  data: { template: "{{ .Values.a }} and }}" },
};
const CRD: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.com", labels: { ...MARKS, app: "x" }, annotations: { "olm.operatorframework.io/owner-uid": "u" } },
};
const HOSTILE: KubeObject = { apiVersion: "example.com/v1", kind: "../../Thing", metadata: { name: "../x" } };

test("buildKustomization returns manifests without marks, in apply order, with safe file names", () => {
  const files = buildKustomization([CRD, CONFIG_MAP, HOSTILE]);
  const paths = ["objects/001-customresourcedefinition.yaml", "objects/002-configmap.yaml", "objects/003-object.yaml"];
  expect([...files.keys()]).toEqual(["kustomization.yaml", ...paths]);
  expect(parseYaml(files.get("kustomization.yaml") ?? "")).toMatchObject({ kind: "Kustomization", resources: paths });
  expect(paths.map((path) => parseYaml(files.get(path) ?? ""))).toEqual([
    { ...CRD, metadata: { name: "things.example.com", labels: { app: "x" } } },
    { ...CONFIG_MAP, metadata: { name: "text", namespace: "n" } },
    HOSTILE,
  ]);
});

test("buildHelmChart escapes template actions, and keeps CustomResourceDefinitions", () => {
  const files = buildHelmChart([CRD, CONFIG_MAP], { packageName: "things", version: "1.2.3" });
  expect(parseYaml(files.get("Chart.yaml") ?? "")).toMatchObject({ apiVersion: "v2", name: "things", version: "1.2.3" });
  expect(files.get("templates/001-customresourcedefinition.yaml")).toContain("helm.sh/resource-policy: keep");
  expect(files.get("templates/002-configmap.yaml")).toContain('{{ "{{" }} .Values.a }} and }}');
  expect(buildHelmChart([], { packageName: "Not/Valid", version: "1.2.3" }).get("Chart.yaml")).toContain("name: operator\n");
});

test.for<[what: string, folder: string, command: string]>([
  ["no words when a shell does not change them", "./shop", "kubectl apply --server-side -k ./shop"],
  ["the folder when it contains a space", "my shop", "kubectl apply --server-side -k 'my shop'"],
])("formatNextCommand quotes %s", ([, folder, command]) => {
  expect(formatNextCommand(undefined, folder)).toBe(command);
  const helm = command.replace("kubectl apply --server-side -k", "helm upgrade --install r");
  expect(formatNextCommand({ name: "r", namespace: "n" }, folder)).toBe(`${helm} --namespace n`);
});

test("buildDetachPatch removes only the marks of this project, and adds those of Helm", () => {
  const other = { apiVersion: "v1", kind: "Node", name: "n", uid: "o" };
  const manager = { manager: "kubectl", operation: "Update" };
  const live: KubeObject = {
    ...CRD,
    metadata: {
      ...CRD.metadata,
      uid: "x",
      resourceVersion: "7",
      ownerReferences: [OWNER, other],
      managedFields: [{ manager: "olm.operatorframework.io" }, { manager: "olm.operatorframework.io/certificates" }, manager],
    },
  };
  const removed = { "olm.operatorframework.io/owner-kind": null, "olm.operatorframework.io/owner-name": null };
  const common = { uid: "x", resourceVersion: "7", ownerReferences: [other], managedFields: [manager] };
  expect(buildDetachPatch(live, "u", undefined)).toEqual({
    metadata: { ...common, labels: removed, annotations: { "olm.operatorframework.io/owner-uid": null } },
  });
  expect(buildDetachPatch(live, "u", { name: "r", namespace: "n" })).toEqual({
    metadata: {
      ...common,
      labels: { ...removed, "app.kubernetes.io/managed-by": "Helm" },
      annotations: {
        "olm.operatorframework.io/owner-uid": null,
        "meta.helm.sh/release-name": "r",
        "meta.helm.sh/release-namespace": "n",
      },
    },
  });
  expect(buildDetachPatch(CONFIG_MAP, "u", undefined).metadata["managedFields"]).toEqual([{}]);
});
