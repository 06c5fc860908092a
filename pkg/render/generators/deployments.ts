import type { KubeObject } from "../../api/k8s.ts";
import { ownedApiServices } from "../../bundle/apiServices.ts";
import { MANIFEST_TYPES } from "../../bundle/goTypes.ts";
import type { Csv, DeploymentSpec, RegistryV1Bundle, StrategyDeployment } from "../../bundle/types.ts";
import { matchesSelector } from "../../resolve/selector.ts";
import { certificateNames } from "../certificateProvider.ts";
import { withCertificateVolumes, withOwnMountsKept } from "../certificateVolumes.ts";
import { deploymentLabels, withDeploymentConfig } from "../deploymentConfig.ts";
import { withProxy } from "../proxy.ts";
import type { GeneratorOptions } from "./options.ts";

/**
 * The Deployments of the install strategy. Pod templates carry the CSV's annotations, overlaid by their own, and what the operator reads to
 * learn its scope; those that serve webhooks or APIs find their certificate mounted; the user's configuration and
 * the proxy of the cluster come last.
 */
export function deployments({ csv }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  const withWebhooks = new Set((csv.spec.webhookdefinitions ?? []).map(({ deploymentName = "" }) => deploymentName));
  const withApis = new Set(ownedApiServices(csv).map(({ deploymentName }) => deploymentName));
  return (csv.spec.install.spec.deployments ?? []).map((deployment) => {
    const mount = withApis.has(deployment.name)
      ? withOwnMountsKept
      : withWebhooks.has(deployment.name)
        ? withCertificateVolumes
        : undefined;
    return generated(csv, deployment, mount, options);
  });
}

function generated(
  csv: Csv,
  { name, spec, label }: StrategyDeployment,
  mount: typeof withCertificateVolumes | undefined,
  options: GeneratorOptions,
): KubeObject {
  const { installNamespace, certProvider, deploymentConfigs, proxy } = options;
  let content = { annotations: {} as Record<string, string>, spec: withAnnotations(spec, csv, options) };
  if (certProvider && mount) {
    const secret = certProvider.secret(certificateNames(name, installNamespace));
    content = { ...content, spec: mount(content.spec, secret) };
  }
  const labels = deploymentLabels({ label, spec });
  const configs = deploymentConfigs.filter(({ selector }) => matchesSelector(selector, labels));
  for (const config of configs) content = withDeploymentConfig(content, config);
  content = withProxy(content, configs, proxy);
  return {
    kind: "Deployment",
    apiVersion: "apps/v1",
    metadata: MANIFEST_TYPES.convert("meta/v1.ObjectMeta", {
      name,
      namespace: installNamespace,
      labels: label,
      annotations: content.annotations,
    }) as KubeObject["metadata"],
    spec: MANIFEST_TYPES.convert("apps/v1.DeploymentSpec", content.spec),
    status: {},
  };
}

function withAnnotations(spec: DeploymentSpec, csv: Csv, { targetNamespaces, installNamespace }: GeneratorOptions): DeploymentSpec {
  const { template } = spec;
  const annotations = {
    ...csv.metadata.annotations,
    ...template.metadata.annotations,
    "olm.targetNamespaces": targetNamespaces.join(","),
    "olm.operatorNamespace": installNamespace,
  };
  return { ...spec, revisionHistoryLimit: 1, template: { ...template, metadata: { ...template.metadata, annotations } } };
}
