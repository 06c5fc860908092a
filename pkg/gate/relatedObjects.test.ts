import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { groupOf } from "../api/k8s.ts";
import { relatedObjects } from "./relatedObjects.ts";

const CONFIG = join(import.meta.dirname, "../../config");
const ORDER = ["manager", "namespace.yaml", "crd", "rbac"];

/** Every manifest of the installation, in order of folder and name; a folder that is not known here comes last. */
function manifests(): KubeObject[] {
  const rank = (file: string): number => (ORDER.indexOf(file.split("/")[0]!) + ORDER.length + 1) % (ORDER.length + 1);
  return globSync("**/*.yaml", { cwd: CONFIG })
    .filter((file) => !file.startsWith("samples/") && !file.endsWith("kustomization.yaml"))
    .sort()
    .sort((a, b) => rank(a) - rank(b))
    .flatMap((file) => loadAll(readFileSync(join(CONFIG, file), "utf8")) as KubeObject[]);
}

function resourceOf({ kind }: KubeObject): string {
  return `${kind.toLowerCase()}s`;
}

test("every object of the manifests is named, in order of the files", () => {
  const expected = manifests().map((object) => {
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
