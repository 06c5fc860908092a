import { describe, expect, test } from "vitest";
import { brokenFiles } from "../../../test/support/brokenBundles.ts";
import { bundleOf, crdOf } from "../../../test/support/bundleFixture.ts";
import { loadBundle } from "../../bundle/load.ts";
import { parseYamlDocuments } from "../../golang/yaml.ts";
import { formatObjects, type RenderRequest, renderForInstall } from "./renderedBundle.ts";

const sound = loadBundle(brokenFiles({}));
const REQUEST: RenderRequest = { certProvider: "auto", aggregateUserRoles: false };

function kinds(request: Partial<RenderRequest>): string[] {
  return renderForInstall(sound, { ...REQUEST, ...request }).objects.map(({ kind }) => kind);
}

describe("a rendered bundle", () => {
  test("is for the namespace that is asked for, else for the one that the bundle suggests, else for its package's", () => {
    const namespaces = (namespace?: string) =>
      new Set(renderForInstall(sound, { ...REQUEST, namespace }).objects.flatMap(({ metadata }) => metadata.namespace ?? []));
    expect(namespaces("ns")).toEqual(new Set(["ns"]));
    expect(namespaces()).toEqual(new Set(["things-system"]));
    const permissions = [{ serviceAccountName: "a", rules: [] }];
    const unsuggested = bundleOf({ packageName: "pack", clusterPermissions: permissions });
    expect(renderForInstall(unsuggested, REQUEST).objects[0]?.metadata.namespace).toBe("pack");
  });

  test("has no marks of an extension, no status, and is always the same", () => {
    const { objects } = renderForInstall(sound, REQUEST);
    expect(objects.filter((object) => "status" in object || "ownerReferences" in object.metadata)).toEqual([]);
    expect(renderForInstall(loadBundle(brokenFiles({})), REQUEST).objects).toEqual(objects);
  });

  test.for<[provider: RenderRequest["certProvider"], own: string[]]>([
    ["auto", []],
    ["self-signed", []],
    ["openshift-service-ca", []],
    ["cert-manager", ["Certificate", "Issuer"]],
  ])("has what certificates of %s need", ([certProvider, own]) => {
    expect(kinds({ certProvider }).filter((kind) => !kinds({}).includes(kind))).toEqual(own);
  });

  test("has the roles for users where they are wanted", () => {
    const count = (aggregateUserRoles: boolean) => kinds({ aggregateUserRoles }).filter((kind) => kind === "ClusterRole").length;
    expect(count(true) - count(false)).toBe(4);
  });

  test("is refused as operator-controller refuses it", () => {
    expect(() => renderForInstall(sound, { ...REQUEST, certProvider: "none" })).toThrow(
      "unsupported bundle: webhookDefinitions are not supported: certificate provider is nil",
    );
    expect(() => renderForInstall(sound, { ...REQUEST, config: { watchNamespace: "a" } })).toThrow('unknown field "watchNamespace"');
  });

  test("comes with a note about definitions that no API server takes", () => {
    const legacy = { ...crdOf("as.example.com", { group: "example.com" }), apiVersion: "apiextensions.k8s.io/v1beta1" };
    const { objects, notes } = renderForInstall(bundleOf({ crds: [legacy] }), REQUEST);
    expect(objects.map(({ kind }) => kind)).toEqual(["CustomResourceDefinition"]);
    expect(notes).toEqual([expect.stringContaining('CustomResourceDefinition "as.example.com" is of apiextensions.k8s.io/v1beta1')]);
  });
});

test("YAML documents and a List in JSON are the same objects", () => {
  const { objects } = renderForInstall(sound, REQUEST);
  expect(parseYamlDocuments(formatObjects(objects, "yaml"))).toEqual(objects);
  expect(JSON.parse(formatObjects(objects, "json"))).toEqual({ apiVersion: "v1", kind: "List", items: objects });
});

test("integers that no double holds are printed whole", () => {
  const crd = {
    ...crdOf("as.example.com"),
    spec: { versions: [{ name: "v1", schema: { openAPIV3Schema: { default: 9007199254740993n } } }] },
  };
  for (const format of ["yaml", "json"] as const) expect(formatObjects([crd as never], format)).toContain("9007199254740993");
});
