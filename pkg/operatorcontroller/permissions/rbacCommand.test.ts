import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { webhookBundle } from "../../../test/support/webhookBundle.ts";
import type { ClusterExtensionSpec } from "../../api/clusterExtension.ts";
import { loadBundle } from "../../bundle/load.ts";
import { certManager } from "../../certificates/providers.ts";
import { renderBundle } from "../../render/render.ts";
import { formatRbacCommand } from "./permissions.ts";

test("formatRbacCommand includes the certificate provider of webhooks and the OperatorCondition, because they change the rules", () => {
  const { spec } = createExtension("x", { packageName: "p" });
  const bundle = loadBundle(new Map(Object.entries(webhookBundle("1.0.0")).map(([path, text]) => [path, Buffer.from(text)])));
  const objects = renderBundle(bundle, { installNamespace: "ns", certProvider: certManager, operatorCondition: "All" });
  const command =
    "olmv1 rbac quay.io/p:v1 --namespace x-system --service-account x-installer --webhook-cert-provider cert-manager --operator-condition";
  expect(formatRbacCommand({ spec }, ["quay.io/p:v1"], { objects })).toBe(command);
});

test.for<[why: string, spec: Partial<ClusterExtensionSpec>, images: string[], command: string]>([
  ["one bundle", {}, ["quay.io/p:v1"], "olmv1 rbac quay.io/p:v1 --namespace x-system --service-account x-installer"],
  [
    "an upgrade, which needs the permissions of both bundles",
    {},
    ["quay.io/p:v1", "quay.io/p:v2"],
    "olmv1 rbac quay.io/p:v1 quay.io/p:v2 --namespace x-system --service-account x-installer",
  ],
  [
    "the same bundle with another configuration",
    { config: { configType: "Inline", inline: { watchNamespace: "watched" } } },
    ["quay.io/p:v1", "quay.io/p:v1"],
    "olmv1 rbac quay.io/p:v1 --namespace x-system --service-account x-installer --watch-namespace watched",
  ],
  [
    "several watched namespaces",
    { config: { configType: "Inline", inline: { watchNamespaces: ["b", "a", 5] } } },
    ["quay.io/p:v1"],
    "olmv1 rbac quay.io/p:v1 --namespace x-system --service-account x-installer --watch-namespace b --watch-namespace a",
  ],
  [
    "all namespaces in one word",
    { config: { configType: "Inline", inline: { watchNamespaces: ["*"] } } },
    ["quay.io/p:v1"],
    "olmv1 rbac quay.io/p:v1 --namespace x-system --service-account x-installer --watch-namespace '*'",
  ],
  [
    "ConfigMaps that are created for certificate authorities",
    {
      config: {
        configType: "Inline",
        inline: {
          deploymentConfig: { trustedCA: { configMapName: "a", create: true } },
          deploymentConfigs: [null, { trustedCA: { configMapName: "b" } }, { trustedCA: { configMapName: "c", create: true } }],
        },
      },
    },
    ["quay.io/p:v1"],
    "olmv1 rbac quay.io/p:v1 --namespace x-system --service-account x-installer --trusted-ca-config-map a --trusted-ca-config-map c",
  ],
  [
    "everything that changes the rules",
    { uninstall: { crdPolicy: "Delete" }, install: { userRoles: "Aggregate", storageMigration: "Automatic" } },
    ["quay.io/p@sha256:1"],
    "olmv1 rbac quay.io/p@sha256:1 --namespace x-system --service-account x-installer --crd-policy Delete --migrate-storage --aggregate-user-roles",
  ],
  [
    "the sources of the configuration, each once",
    {
      config: {
        configType: "Inline",
        valuesFrom: [
          { kind: "Secret", name: "a" },
          { kind: "ConfigMap", name: "b" },
          { kind: "Secret", name: "a", key: "other" },
        ],
      },
    },
    ["quay.io/p:v1"],
    "olmv1 rbac quay.io/p:v1 --namespace x-system --service-account x-installer --values-from Secret/a ConfigMap/b",
  ],
  [
    "words that need quotes",
    { serviceAccount: {}, config: { configType: "Inline", inline: { watchNamespace: "a; echo 'b' $(c)" } } },
    ["quay.io/p:v1"],
    String.raw`olmv1 rbac quay.io/p:v1 --namespace x-system --watch-namespace 'a; echo '\''b'\'' $(c)'`,
  ],
])("formatRbacCommand formats the command for %s", ([, spec, images, command]) => {
  const x = createExtension("x", { packageName: "p" });
  expect(formatRbacCommand({ spec: { ...x.spec, ...spec } }, images)).toBe(command);
});

test("formatRbacCommand includes at most 100 namespaces and 100 ConfigMaps of a configuration", () => {
  const { spec } = createExtension("x", { packageName: "p" });
  const deploymentConfigs = Array.from({ length: 1_000 }, (_, i) => ({ trustedCA: { configMapName: `c${i}`, create: true } }));
  const command = formatRbacCommand({ spec }, [], {
    config: { watchNamespaces: deploymentConfigs.map((_, i) => `n${i}`), deploymentConfigs },
  });
  expect(command.match(/--watch-namespace/g)).toHaveLength(100);
  expect(command.match(/--trusted-ca-config-map/g)).toHaveLength(100);
});
