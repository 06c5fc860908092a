import { describe, expect, test } from "vitest";
import { brokenFiles } from "../../../test/support/brokenBundles.ts";
import { bundleOf, createCrd } from "../../../test/support/bundleFixture.ts";
import { loadBundle } from "../../bundle/load.ts";
import { parseYamlDocuments } from "../../golang/yaml.ts";
import { formatObjects, type RenderRequest, renderForInstall } from "./renderedBundle.ts";

const sound = loadBundle(brokenFiles({}));
const REQUEST: RenderRequest = { certProvider: "auto", aggregateUserRoles: false };

function kinds(request: Partial<RenderRequest>): string[] {
  return renderForInstall(sound, { ...REQUEST, ...request }).objects.map(({ kind }) => kind);
}

describe("renderForInstall", () => {
  test("renderForInstall uses the requested namespace, or else the namespace that the bundle suggests, or else the package name and -system", () => {
    const namespaces = (namespace?: string) =>
      new Set(renderForInstall(sound, { ...REQUEST, namespace }).objects.flatMap(({ metadata }) => metadata.namespace ?? []));
    expect(namespaces("ns")).toEqual(new Set(["ns"]));
    expect(namespaces()).toEqual(new Set(["things-system"]));
    const permissions = [{ serviceAccountName: "a", rules: [] }];
    const unsuggested = bundleOf({ packageName: "pack", clusterPermissions: permissions });
    expect(renderForInstall(unsuggested, REQUEST).objects[0]?.metadata.namespace).toBe("pack-system");
  });

  test("renderForInstall returns the same objects each time, without owner references or status", () => {
    const { objects } = renderForInstall(sound, REQUEST);
    expect(objects.filter((object) => "status" in object || "ownerReferences" in object.metadata)).toEqual([]);
    expect(renderForInstall(loadBundle(brokenFiles({})), REQUEST).objects).toEqual(objects);
  });

  test.for<[provider: RenderRequest["certProvider"], own: string[]]>([
    ["auto", []],
    ["self-signed", []],
    ["openshift-service-ca", []],
    ["cert-manager", ["Certificate", "Issuer"]],
  ])("renderForInstall with certificate provider %s adds objects of kinds %j", ([certProvider, own]) => {
    expect(kinds({ certProvider }).filter((kind) => !kinds({}).includes(kind))).toEqual(own);
  });

  test("renderForInstall adds user roles when they are requested", () => {
    const count = (aggregateUserRoles: boolean) => kinds({ aggregateUserRoles }).filter((kind) => kind === "ClusterRole").length;
    expect(count(true) - count(false)).toBe(4);
  });

  test("renderForInstall rejects unsupported bundles and configurations with the messages of operator-controller", () => {
    expect(() => renderForInstall(sound, { ...REQUEST, certProvider: "none" })).toThrow(
      "unsupported bundle: webhookDefinitions are not supported: certificate provider is nil",
    );
    expect(() => renderForInstall(sound, { ...REQUEST, config: { watchNamespace: "a" } })).toThrow('unknown field "watchNamespace"');
  });

  test("renderForInstall adds a note when a CRD uses a removed API version", () => {
    const legacy = { ...createCrd("as.example.com", { group: "example.com" }), apiVersion: "apiextensions.k8s.io/v1beta1" };
    const { objects, notes } = renderForInstall(bundleOf({ crds: [legacy] }), REQUEST);
    expect(objects.map(({ kind }) => kind)).toEqual(["CustomResourceDefinition"]);
    expect(notes).toEqual([expect.stringContaining('CustomResourceDefinition "as.example.com" uses apiextensions.k8s.io/v1beta1')]);
  });
});

test("formatObjects prints the same objects as YAML documents and as a JSON List", () => {
  const { objects } = renderForInstall(sound, REQUEST);
  expect(parseYamlDocuments(formatObjects(objects, "yaml"))).toEqual(objects);
  expect(JSON.parse(formatObjects(objects, "json"))).toEqual({ apiVersion: "v1", kind: "List", items: objects });
});

test("formatObjects prints integers above 2^53 exactly", () => {
  const crd = {
    ...createCrd("as.example.com"),
    spec: { versions: [{ name: "v1", schema: { openAPIV3Schema: { default: 9007199254740993n } } }] },
  };
  for (const format of ["yaml", "json"] as const) expect(formatObjects([crd as never], format)).toContain("9007199254740993");
});
