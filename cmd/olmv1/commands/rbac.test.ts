import { join } from "node:path";
import { expect, test } from "vitest";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import type { PolicyRule } from "../../../pkg/rbac/policyRule.ts";
import { flunderBundle } from "../../../test/support/flunderServer.ts";
import { type Ended, olmv1 } from "../../../test/support/runCli.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { tinyBundle } from "../../../test/support/tinyBundle.ts";
import { webhookBundle } from "../../../test/support/webhookBundle.ts";

const SAMPLE = join(import.meta.dirname, "../../../pkg/devcluster/sample");
const bundle = (version: string): string => join(SAMPLE, "bundles", version);

const rbac = (...args: string[]): Promise<Ended> => olmv1("rbac", ...args);

function listObjects({ out }: Ended): string[] {
  return (parseYamlDocuments(out) as KubeObject[]).map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`);
}

test("rbac prints manifests for the namespace and ServiceAccount that the bundle suggests", async () => {
  const ended = await rbac(bundle("1.0.0"));
  expect([ended.code, ended.err]).toEqual([0, ""]);
  expect(ended.out.split("\n")[0]).toBe("# for hello-operator.v1.0.0");
  expect(listObjects(ended)).toEqual([
    "ServiceAccount hello-operator-system/hello-operator-installer",
    "ClusterRole /hello-operator-system-hello-operator-installer",
    "ClusterRoleBinding /hello-operator-system-hello-operator-installer",
    "Role hello-operator-system/hello-operator-installer",
    "RoleBinding hello-operator-system/hello-operator-installer",
    "Role hello-operator-system/hello-operator-installer-token",
    "RoleBinding hello-operator-system/hello-operator-installer-token",
  ]);
});

test("rbac prints only its own objects when the name of a ClusterServiceVersion contains line ends", async () => {
  using folder = new TempFolder();
  const files = Object.entries(tinyBundle("1.0.0"));
  const name = JSON.stringify("p.v1\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: injected}\n---\n");
  const renamed = Object.fromEntries(files.map(([path, text]) => [path, text.replace('"p.v1.0.0"', () => name)]));
  const bundleFolder = folder.write("bundle", renamed);
  const ended = await rbac(bundleFolder, "--namespace", "ns");
  expect([ended.code, ended.err]).toEqual([0, ""]);
  expect(ended.out).toContain("injected");
  expect(listObjects(ended)).not.toContain("Namespace /injected");
});

test("rbac --user-roles prints each user role only once when several bundles provide the same APIs", async () => {
  const ended = await rbac(bundle("1.0.0"), bundle("1.2.0"), "--user-roles");
  expect(listObjects(ended)).toEqual(
    ["admin", "edit", "view", "view-crdview"].map((role) => `ClusterRole /greetings.hello.example.com-v1alpha1-${role}`),
  );
});

test.for<[why: string, to: string, from: string, code: number, shows: string]>([
  ["more permissions", "1.2.0", "1.0.0", 1, '+ Namespace:"" APIGroups:[hello.example.com] Resources:[greetings] Verbs:[patch,update]'],
  ["the same permissions", "1.0.0", "1.0.0", 0, "no change"],
])("rbac --diff reports that the new bundle needs %s", async ([, to, from, code, shows]) => {
  const ended = await rbac(bundle(to), "--diff", bundle(from));
  expect([ended.code, ended.err]).toEqual([code, ""]);
  expect(ended.out).toContain(`from hello-operator.v${from} to hello-operator.v${to}\n`);
  expect(ended.out).toContain(shows);
});

test.for<[watched: string[], namespaces: string[]]>([
  [["a"], ["a"]],
  [
    ["b", "a"],
    ["a", "b"],
  ],
  [["*"], []],
])("rbac with --watch-namespace %j permits the installer to write Roles in %j", async ([watched, namespaces]) => {
  using folder = new TempFolder();
  const permissions = [{ serviceAccountName: "tiny", rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }] }];
  const modes = ["AllNamespaces", "SingleNamespace", "MultiNamespace"];
  const bundleFolder = folder.write("bundle", tinyBundle("1.0.0", { modes, permissions }));
  const ended = await rbac(bundleFolder, "--namespace", "ns", ...watched.flatMap((name) => ["--watch-namespace", name]));
  expect([ended.code, ended.err]).toEqual([0, ""]);
  const roles = (parseYamlDocuments(ended.out) as (KubeObject & { rules?: PolicyRule[] })[]).filter(({ rules = [] }) =>
    rules.some(({ resources, verbs }) => resources?.includes("roles") && verbs.includes("create")),
  );
  expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(namespaces);
});

test("rbac with --trusted-ca-config-map permits writing the listed ConfigMaps", async () => {
  const ended = await rbac(bundle("1.0.0"), "--trusted-ca-config-map", "a", "--trusted-ca-config-map", "b");
  expect([ended.code, ended.err]).toEqual([0, ""]);
  const rules = (parseYamlDocuments(ended.out) as { rules?: PolicyRule[] }[]).flatMap((role) => role.rules ?? []);
  const named = rules.filter(({ resources, verbs }) => resources?.includes("configmaps") && verbs.includes("patch"));
  expect(named.flatMap(({ resourceNames = [] }) => resourceNames)).toEqual(expect.arrayContaining(["a", "b"]));
});

test.for<[provider: string, secrets: boolean, certificates: boolean]>([
  ["auto", true, true],
  ["self-signed", true, false],
  ["cert-manager", false, true],
  ["openshift-service-ca", false, false],
])("rbac for webhooks with provider %s grants access to Secrets: %s, to Certificates: %s", async ([provider, secrets, certificates]) => {
  using folder = new TempFolder();
  const ended = await rbac(folder.write("bundle", webhookBundle("1.0.0")), "--webhook-cert-provider", provider, "--namespace", "ns");
  expect([ended.code, ended.err]).toEqual([0, ""]);
  const rules = (parseYamlDocuments(ended.out) as { rules?: PolicyRule[] }[]).flatMap((role) => role.rules ?? []);
  const named = (resource: string) => rules.filter(({ resources }) => resources?.includes(resource));
  const verbs = ["get", "create", "patch", "delete"];
  expect(named("secrets")).toEqual(
    secrets ? [{ apiGroups: [""], resources: ["secrets"], resourceNames: ["tiny-service-cert"], verbs }] : [],
  );
  expect(named("certificates").length).toBe(certificates ? 1 : 0);
  expect(named("validatingwebhookconfigurations").length).toBe(1);
});

test("rbac for a bundle with API services grants access to APIServices, and permits binding the roles of API servers", async () => {
  using folder = new TempFolder();
  const ended = await rbac(folder.write("bundle", flunderBundle("1.0.0")), "--namespace", "ns");
  expect([ended.code, ended.err]).toEqual([0, ""]);
  const objects = parseYamlDocuments(ended.out) as (KubeObject & { rules?: PolicyRule[] })[];
  const listScopes = (resource: string, verb: string, name: string): (string | undefined)[] =>
    objects
      .filter(({ rules = [] }) =>
        rules.some((rule) => rule.resources?.includes(resource) && rule.verbs.includes(verb) && rule.resourceNames?.includes(name)),
      )
      .map(({ metadata: { namespace } }) => namespace);
  expect(listScopes("apiservices", "create", "v1alpha1.wardle.example.com")).toEqual([undefined]);
  expect(listScopes("clusterroles", "bind", "system:auth-delegator")).toEqual([undefined]);
  expect(listScopes("roles", "bind", "extension-apiserver-authentication-reader")).toEqual(["kube-system"]);
  expect(listScopes("secrets", "create", "tiny-service-cert")).toEqual(["ns"]);
});

test("rbac with --values-from permits reading the listed objects", async () => {
  const ended = await rbac(bundle("1.0.0"), "--values-from", "Secret/values", "ConfigMap/more");
  expect([ended.code, ended.err]).toEqual([0, ""]);
  const rules = (parseYamlDocuments(ended.out) as { rules?: PolicyRule[] }[]).flatMap((role) => role.rules ?? []);
  expect(rules).toContainEqual({ apiGroups: [""], resources: ["secrets"], resourceNames: ["values"], verbs: ["get", "list", "watch"] });
  expect(rules).toContainEqual({ apiGroups: [""], resources: ["configmaps"], resourceNames: ["more"], verbs: ["get", "list", "watch"] });
});

test.for<[why: string, args: string[], message: string]>([
  [
    "--values-from with another kind",
    ["--values-from", "Pod/x"],
    "olmv1: option '--values-from <kind/name...>' argument 'Pod/x' is invalid. Use ConfigMap/NAME or Secret/NAME. See --help\n",
  ],
  ["no arguments", [], "olmv1: no bundle: specify at least one bundle folder or image, or use --token-only\n"],
  ["--token-only without a ServiceAccount", ["--token-only"], "olmv1: --token-only requires --namespace and --service-account\n"],
  [
    "--version without a catalog",
    ["hello-operator", "--version", "1.x"],
    "olmv1: --version and --channel require packages: set their catalog with --catalog or --catalog-url\n",
  ],
  [
    "a version range without bundles",
    ["hello-operator", "--catalog", join(SAMPLE, "catalog"), "--version", ">=7"],
    'olmv1: no bundles found for package "hello-operator" matching version ">=7"; the highest version in the package is 1.2.0\n',
  ],
])("rbac rejects %s", async ([, args, message]) => {
  expect(await rbac(...args)).toEqual({ code: 2, out: "", err: message });
});
