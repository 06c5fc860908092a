import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load, loadAll } from "js-yaml";
import { expect, test } from "vitest";
import { groupOf, type KubeObject } from "../api/k8s.ts";
import { relatedObjects } from "./relatedObjects.ts";

const CONFIG = join(import.meta.dirname, "../../config");
/** What a file's path holds, in the order in which its objects are listed. */
const ORDER = ["/manager/", "namespace.yaml", "/crd/", "/rbac/", "/network/"];

/** The files that `kubectl apply -k` of the folder reads. */
function filesOf(folder: string): string[] {
  const { resources } = load(readFileSync(join(folder, "kustomization.yaml"), "utf8")) as { resources: string[] };
  return resources.flatMap((resource) => (resource.endsWith(".yaml") ? [join(folder, resource)] : filesOf(join(folder, resource))));
}

/** Every object of the installation, in order of what its file holds and then of the file's name; what is not known here comes last. */
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

test("every object that config installs is named, in order of the files, but no Secret", () => {
  const open = manifests(CONFIG).filter(({ kind }) => kind !== "Secret");
  const expected = open.map((object) => {
    const { name, namespace } = object.metadata;
    return { group: groupOf(object.apiVersion), resource: resourceOf(object), ...(namespace ? { namespace } : {}), name };
  });
  expect(expected.length).toBeGreaterThan(15);
  expect(relatedObjects("olmv1-system").slice(0, -2)).toEqual(expected);
});

test("all extensions and catalogs come last", () => {
  expect(relatedObjects("olmv1-system").slice(-2)).toEqual([
    { group: "olm.operatorframework.io", resource: "clusterextensions", name: "" },
    { group: "olm.operatorframework.io", resource: "clustercatalogs", name: "" },
  ]);
});

test("another system namespace takes the place of that of the manifests", () => {
  const elsewhere = JSON.stringify(relatedObjects("elsewhere"));
  expect(elsewhere).toBe(JSON.stringify(relatedObjects("olmv1-system")).replaceAll('"olmv1-system"', '"elsewhere"'));
});
