import { OPENSHIFT_CATALOGD_NAMESPACE, OPENSHIFT_NAMESPACE, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { allOf, BY_CLUSTER_OLM_OPERATOR, type ChartManifest, mergeServerRoles } from "./chartRoles.ts";

const CHART = "config/helm/olmv1";
const NAMESPACE = '{{ include "olmv1.namespace" . }}';
const CATALOGD_NAMESPACE = '{{ include "olmv1.catalogdNamespace" . }}';
const PART_OF = "    app.kubernetes.io/part-of: olm\n";
const CRDS = "helm.sh/resource-policy: keep";

/** A file in config/ whose manifests the chart contains, with its own namespaces. */
interface FileCopy {
  /** Path in config/. */
  from: string;
  /** Path in templates/ of the chart. */
  to: string;
  /** Condition on the values of the chart; "" means always. */
  when: string;
}

/** Condition for permission-manager. */
const MANAGED = 'ne .Values.permissions.mode "Off"';
/** Conditions for the two parts of the chart: catalogd, and the other servers. cluster-olm-operator renders them separately. */
const CATALOGD = ".Values.options.catalogd.enabled";
const OPERATOR_CONTROLLER = ".Values.options.operatorController.enabled";

const COPIES: readonly FileCopy[] = [
  { from: "rbac/operator-controller.yaml", to: "rbac/operator-controller.yaml", when: "" },
  { from: "rbac/catalogd.yaml", to: "rbac/catalogd.yaml", when: "" },
  { from: "rbac/metrics.yaml", to: "rbac/metrics.yaml", when: "" },
  { from: "rbac/dependencies.yaml", to: "rbac/dependencies.yaml", when: "" },
  { from: "rbac/permission-manager.yaml", to: "rbac/permission-manager.yaml", when: MANAGED },
  { from: "console/service-account.yaml", to: "console/service-account.yaml", when: ".Values.console.enabled" },
  { from: "permissions/admission.yaml", to: "admission/permissions.yaml", when: MANAGED },
  { from: "overlays/shared-watch/shared-watch.yaml", to: "rbac/shared-watch.yaml", when: ".Values.operatorController.sharedWatches" },
  { from: "manager/serving-certificates.yaml", to: "serving-certificates.yaml", when: 'eq (include "olmv1.tlsSource" .) "self-managed"' },
  {
    from: "openshift/catalogd-namespace.yaml",
    to: "catalogd-namespace.yaml",
    when: 'ne (include "olmv1.namespace" .) (include "olmv1.catalogdNamespace" .)',
  },
  {
    from: "openshift/tls-profile.yaml",
    to: "rbac/tls-profile.yaml",
    when: allOf(".Values.openshift.enabled", `not ${BY_CLUSTER_OLM_OPERATOR}`),
  },
  { from: "openshift/registries.yaml", to: "rbac/registries.yaml", when: ".Values.openshift.enabled" },
  { from: "openshift/image-policies.yaml", to: "rbac/image-policies.yaml", when: ".Values.openshift.enabled" },
  {
    from: "openshift/pull-secret.yaml",
    to: "rbac/pull-secret.yaml",
    when: 'eq (include "olmv1.globalPullSecret" .) "openshift-config/pull-secret"',
  },
  {
    from: "openshift/monitoring.yaml",
    to: "prometheus/openshift.yaml",
    when: `and .Values.openshift.enabled (or .Values.prometheus.enabled ${BY_CLUSTER_OLM_OPERATOR})`,
  },
  { from: "openshift/trusted-ca.yaml", to: "trusted-ca.yaml", when: ".Values.openshift.enabled" },
  { from: "network/policies.yaml", to: "network/policies.yaml", when: ".Values.networkPolicies.enabled" },
  { from: "admission/catalog-label.yaml", to: "admission/catalog-label.yaml", when: ".Values.admissionPolicies.catalogLabel" },
  { from: "samples/service-accounts.yaml", to: "admission/service-accounts.yaml", when: ".Values.admissionPolicies.serviceAccounts" },
  { from: "prometheus/rules.yaml", to: "prometheus/rules.yaml", when: ".Values.prometheus.enabled" },
];
/** The definition of OperatorConditions, which a cluster with OLM v0 already has. */
const CONDITIONS = "config/operator-conditions/operators.coreos.com_operatorconditions.yaml";
const DASHBOARD = "config/prometheus/dashboard.json";

/**
 * Returns the generated files of the Helm chart by path from the root of the repository. They are generated from config/, so each manifest has a
 * single source.
 * @param crds CustomResourceDefinitions by path.
 * @param read returns the text of a file by path.
 */
export function buildChartFiles(crds: ReadonlyMap<string, string>, read: (path: string) => string): Map<string, string> {
  const definitions = [...crds].map(([path, text]): [string, string] => {
    const part = path.endsWith("_clustercatalogs.yaml") ? CATALOGD : OPERATOR_CONTROLLER;
    const manifest = { text: keepOnUninstall(text), when: allOf(".Values.crds.install", part) };
    return [`${CHART}/templates/crd/${path.slice(path.lastIndexOf("/") + 1)}`, template(path, [manifest])];
  });
  const manifests = COPIES.flatMap((copy) =>
    read(`config/${copy.from}`)
      .split(/^---\n/m)
      .map((text) => ({ copy, manifest: { text: escapeTemplates(text), when: copy.when } })),
  );
  const merged = mergeServerRoles(manifests.map(({ manifest }) => manifest));
  const copies = COPIES.map((copy): [string, string] => {
    const own = merged.filter((_, index) => manifests[index]?.copy === copy);
    const edited = own.map(({ text, when }) => ({ text: addPullSecrets(replaceNamespace(text)), when: allOf(getPart(text), when) }));
    return [`${CHART}/templates/${copy.to}`, template(`config/${copy.from}`, edited)];
  });
  const conditions = { text: keepOnUninstall(read(CONDITIONS)), when: allOf(".Values.crds.operatorConditions", OPERATOR_CONTROLLER) };
  const conditionFile = `${CHART}/templates/crd/${CONDITIONS.slice(CONDITIONS.lastIndexOf("/") + 1)}`;
  return new Map([
    ...definitions,
    [conditionFile, template(CONDITIONS, [conditions])],
    ...copies,
    [`${CHART}/files/dashboard.json`, read(DASHBOARD)],
  ]);
}

/** Returns the condition for the part of the chart that a manifest belongs to. */
function getPart(document: string): string {
  const [, server] = /^ {4}app\.kubernetes\.io\/name: (.+)$/m.exec(document) ?? [];
  const belongsToCatalogd = server === undefined ? document.includes(OPENSHIFT_CATALOGD_NAMESPACE) : server === "catalogd";
  return belongsToCatalogd ? CATALOGD : OPERATOR_CONTROLLER;
}

/** Returns a template with the manifests, in one condition for adjacent manifests with the same condition. */
function template(from: string, manifests: readonly ChartManifest[]): string {
  const groups: { when: string; texts: string[] }[] = [];
  for (const { text, when } of manifests) {
    const last = groups.at(-1);
    if (last?.when === when) last.texts.push(text);
    else groups.push({ when, texts: [text] });
  }
  const blocks = groups.map(({ when, texts }) => `{{- if ${when} }}\n---\n${texts.join("---\n").trimEnd()}\n{{- end }}\n`);
  return `{{- /* Generated by \`npm run generate\` from ${from}. Do not edit. */ -}}\n${blocks.join("")}`;
}

/** Escapes templates for other programs, so that Helm prints them unchanged. */
function escapeTemplates(text: string): string {
  return text.replaceAll(/\{\{.*?\}\}/g, (found) => `{{\`${found}\`}}`);
}

/** Replaces the namespaces of the manifests: of catalogd, of its ServiceAccount in bindings, and of everything else. */
function replaceNamespace(document: string): string {
  const text = document.replaceAll(OPENSHIFT_CATALOGD_NAMESPACE, CATALOGD_NAMESPACE);
  const ofCatalogd = /^ {4}app\.kubernetes\.io\/name: catalogd$/m.test(text);
  const own = ofCatalogd ? text.replace(`\n  namespace: ${SYSTEM_NAMESPACE}`, `\n  namespace: ${CATALOGD_NAMESPACE}`) : text;
  const account = new RegExp(`(name: catalogd-controller-manager\n +namespace: )${SYSTEM_NAMESPACE}`, "g");
  return own.replace(account, `$1${CATALOGD_NAMESPACE}`).replaceAll(SYSTEM_NAMESPACE, NAMESPACE).replaceAll(OPENSHIFT_NAMESPACE, NAMESPACE);
}

/** Adds the annotation that keeps a CustomResourceDefinition and its custom resources when the chart is uninstalled. */
function keepOnUninstall(text: string): string {
  const annotations = /^ {2}annotations:\n/m;
  if (annotations.test(text)) return escapeTemplates(text).replace(annotations, (found) => `${found}    ${CRDS}\n`);
  return escapeTemplates(text).replace(/^metadata:\n/m, (found) => `${found}  annotations:\n    ${CRDS}\n`);
}

/** Adds `imagePullSecrets` to ServiceAccounts. */
function addPullSecrets(document: string): string {
  if (!/^kind: ServiceAccount$/m.test(document)) return document;
  if (!document.endsWith(PART_OF))
    throw new Error(`cannot add imagePullSecrets to a ServiceAccount: its manifest must end with ${PART_OF.trim()}:\n${document}`);
  return `${document}{{- with .Values.imagePullSecrets }}\nimagePullSecrets:\n{{- range . }}\n  - name: {{ . }}\n{{- end }}\n{{- end }}\n`;
}
