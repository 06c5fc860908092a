import type { JsonObject } from "../../pkg/api/k8s.ts";
import { certManager, selfSigned, serviceCa } from "../../pkg/certificates/providers.ts";
import type { RenderOptions } from "../../pkg/render/render.ts";

/** Options to render one of the bundles in `bundles`. The result is in `rendered/<name>.yaml`. */
export interface GoldenRow {
  readonly name: string;
  readonly bundle: "scoped" | "serving";
  readonly options: Omit<RenderOptions, "installNamespace">;
}

const createRow = (name: string, config?: JsonObject, more: Omit<RenderOptions, "installNamespace"> = {}): GoldenRow => ({
  name: `scoped-${name}`,
  bundle: "scoped",
  options: { config, ...more },
});
const serving = (name: string, options: GoldenRow["options"]): GoldenRow => ({ name: `serving-${name}`, bundle: "serving", options });
const deploymentConfig = (name: string, config: JsonObject): GoldenRow => createRow(`config-${name}`, { deploymentConfig: config });

/** All render options, each in its own row unless they depend on each other. */
export const GOLDEN_ROWS: readonly GoldenRow[] = [
  createRow("all-namespaces"),
  createRow("own-namespace", { watchNamespace: "install" }),
  createRow("single-namespace", { watchNamespace: "watched" }),
  createRow("several-namespaces", { watchNamespaces: ["watched", "install", "also"] }),
  createRow("unknown-member", { watchNamespace: "watched", nonsense: true }),
  createRow("proxy", undefined, { proxy: { HTTPS_PROXY: "http://proxy.example.com:3128", NO_PROXY: ".svc" } }),
  createRow(
    "proxy-overridden",
    { deploymentConfig: { env: [{ name: "HTTPS_PROXY", value: "" }] } },
    { proxy: { HTTPS_PROXY: "http://p" } },
  ),
  deploymentConfig("env", {
    env: [
      { name: "LEVEL", value: "debug" },
      { name: "NEW", value: "1" },
    ],
    envFrom: [{ secretRef: { name: "more" } }],
  }),
  deploymentConfig("volumes", {
    volumes: [
      { name: "work", configMap: { name: "work" } },
      { name: "ca", secret: { secretName: "ca" } },
    ],
    volumeMounts: [
      { name: "work", mountPath: "/elsewhere" },
      { name: "ca", mountPath: "/etc/ca", readOnly: true },
    ],
  }),
  deploymentConfig("scheduling", {
    nodeSelector: { disk: "ssd" },
    tolerations: [
      { key: "a", operator: "Exists" },
      { key: "b", operator: "Exists" },
    ],
  }),
  deploymentConfig("affinity-replaced", {
    affinity: { nodeAffinity: {}, podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] } },
  }),
  deploymentConfig("affinity-removed", { affinity: {}, nodeSelector: {} }),
  deploymentConfig("resources", { resources: { limits: { memory: "2Gi" } }, annotations: { description: "not taken", added: "yes" } }),
  deploymentConfig("init-containers", { env: [{ name: "NEW", value: "1" }], includeInitContainers: true }),
  deploymentConfig("wrong-type", { env: [{ name: 5 }] }),
  createRow("configs-by-selector", {
    deploymentConfig: { env: [{ name: "FOR", value: "all" }] },
    deploymentConfigs: [{ selector: { matchLabels: { "app.kubernetes.io/name": "extra" } }, env: [{ name: "FOR", value: "extra" }] }],
  }),
  serving("cert-manager", { certProvider: certManager }),
  serving("service-ca", { certProvider: serviceCa }),
  serving("self-signed", { certProvider: selfSigned }),
  serving("without-provider", {}),
  serving("mounted-over", {
    certProvider: certManager,
    config: { deploymentConfig: { volumes: [{ name: "webhook-cert", secret: { secretName: "mine" } }] } },
  }),
];
