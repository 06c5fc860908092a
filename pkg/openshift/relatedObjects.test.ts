import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load, loadAll } from "js-yaml";
import { expect, test } from "vitest";
import { getGroup, type KubeObject } from "../api/k8s.ts";
import { listRelatedObjects } from "./relatedObjects.ts";

const CONFIG = join(import.meta.dirname, "../../config");
/** Fragments of file paths, in the order in which `listRelatedObjects` lists the objects in these files. */
const ORDER = ["/manager/", "namespace.yaml", "/crd/", "/rbac/", "/network/"];

/** Returns the files that `kubectl apply -k` reads for the folder. */
function filesOf(folder: string): string[] {
  const { resources } = load(readFileSync(join(folder, "kustomization.yaml"), "utf8")) as { resources: string[] };
  return resources.flatMap((resource) => (resource.endsWith(".yaml") ? [join(folder, resource)] : filesOf(join(folder, resource))));
}

/**
 * Returns all objects of the installation, sorted by the position of their file in the list above and by file name;
 * other files come last.
 */
function manifests(folder: string): KubeObject[] {
  const rank = (file: string): number => (ORDER.findIndex((part) => file.includes(part)) + ORDER.length + 1) % (ORDER.length + 1);
  return filesOf(folder)
    .sort()
    .sort((a, b) => rank(a) - rank(b))
    .flatMap((file) => loadAll(readFileSync(file, "utf8")) as KubeObject[]);
}

function resourceOf({ kind }: KubeObject): string {
  return kind.endsWith("Policy") ? `${kind.toLowerCase().slice(0, -1)}ies` : `${kind.toLowerCase()}s`;
}

test("listRelatedObjects lists all objects in config except Secrets, in the order of the files", () => {
  const open = manifests(CONFIG).filter(({ kind }) => kind !== "Secret");
  const expected = open.map((object) => {
    const { name, namespace } = object.metadata;
    return { group: getGroup(object.apiVersion), resource: resourceOf(object), ...(namespace ? { namespace } : {}), name };
  });
  expect(expected.length).toBeGreaterThan(15);
  expect(listRelatedObjects("olmv1-system").slice(0, -4)).toEqual(expected);
});

test("listRelatedObjects ends with all custom resources", () => {
  expect(listRelatedObjects("olmv1-system").slice(-4)).toEqual([
    { group: "olm.operatorframework.io", resource: "clusterextensions", name: "" },
    { group: "olm.operatorframework.io", resource: "clustercatalogs", name: "" },
    { group: "olm.operatorframework.io", resource: "extensionpermissions", name: "" },
    { group: "olm.operatorframework.io", resource: "permissionpolicies", name: "" },
  ]);
});

test("listRelatedObjects adds the objects of cluster-olm-operator when it is configured", () => {
  const objects = listRelatedObjects("openshift-operator-controller", { hasOlm: true });
  expect(objects.slice(0, -2)).toEqual(listRelatedObjects("openshift-operator-controller"));
  expect(objects.slice(-2)).toEqual([
    { group: "operator.openshift.io", resource: "olms", name: "cluster" },
    { group: "", resource: "namespaces", name: "openshift-cluster-olm-operator" },
  ]);
});

test("listRelatedObjects uses the given system namespace", () => {
  const elsewhere = JSON.stringify(listRelatedObjects("elsewhere"));
  expect(elsewhere).toBe(JSON.stringify(listRelatedObjects("olmv1-system")).replaceAll('"olmv1-system"', '"elsewhere"'));
});

test("listRelatedObjects lists catalogd in its own namespace on OpenShift", () => {
  const objects = listRelatedObjects("openshift-operator-controller");
  const ofCatalogd = objects
    .filter(({ namespace }) => namespace === "openshift-catalogd")
    .map(({ resource, name }) => `${resource} ${name}`);
  expect(ofCatalogd).toEqual([
    "deployments catalogd-controller-manager",
    "services catalogd-service",
    "poddisruptionbudgets catalogd-controller-manager",
    "serviceaccounts catalogd-controller-manager",
    "roles catalogd-manager-role",
    "rolebindings catalogd-manager-rolebinding",
    "networkpolicies default-deny-all-traffic",
    "networkpolicies catalogd-controller-manager",
  ]);
  expect(objects.filter(({ resource }) => resource === "namespaces").map(({ name }) => name)).toEqual([
    "openshift-operator-controller",
    "openshift-catalogd",
  ]);
});
