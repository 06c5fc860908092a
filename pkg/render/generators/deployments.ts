import type { KubeObject } from "../../api/k8s.ts";
import { ownedApiServices } from "../../bundle/apiServices.ts";
import { MANIFEST_TYPES } from "../../bundle/goTypes.ts";
import type { Csv, DeploymentSpec, RegistryV1Bundle, StrategyDeployment } from "../../bundle/types.ts";
import { certificateNames } from "../certificateProvider.ts";
import { withCertificateVolumes, withOwnMountsKept } from "../certificateVolumes.ts";
import { chooseConfigs } from "../configWork.ts";
import { withDeploymentConfig } from "../deploymentConfig.ts";
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
  const all = csv.spec.install.spec.deployments ?? [];
  const configs = chooseConfigs(all, options.deploymentConfigs);
  return all.map((deployment, index) => {
    const mount = withApis.has(deployment.name)
      ? withOwnMountsKept
      : withWebhooks.has(deployment.name)
        ? withCertificateVolumes
        : undefined;
    return generated(csv, deployment, mount, { ...options, deploymentConfigs: configs[index] ?? [] });
  });
}

/** @param options with the configurations of this Deployment only. */
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
  for (const config of deploymentConfigs) content = withDeploymentConfig(content, config);
  content = withProxy(content, deploymentConfigs, proxy);
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
