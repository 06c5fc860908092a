import { Reason } from "../api/constants.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import type { Csv, RegistryV1Bundle } from "../bundle/types.ts";
import { installModes, validateBundle } from "../bundle/validate.ts";
import { RetryableError } from "../errors/errors.ts";
import type { CertificateProvider } from "./certificateProvider.ts";
import { type BundleConfig, bundleConfig } from "./config.ts";
import { additionalResources } from "./generators/additional.ts";
import { apiServiceRights } from "./generators/apiServiceRights.ts";
import { apiServices } from "./generators/apiServices.ts";
import { crds } from "./generators/crds.ts";
import { deployments } from "./generators/deployments.ts";
import type { Generator } from "./generators/options.ts";
import { clusterRoles, roles, serviceAccounts } from "./generators/permissions.ts";
import { certificateObjects, services } from "./generators/services.ts";
import { mutatingWebhooks, validatingWebhooks } from "./generators/webhooks.ts";
import type { ProxyVariables } from "./proxy.ts";
import { checkRendered, checkRoles } from "./renderLimits.ts";
import { targetFault, targetNamespaces } from "./targetNamespaces.ts";
import { trustedCaConfigMaps } from "./trustedCa.ts";

/** How a bundle is to be rendered. */
export interface RenderOptions {
  /** `spec.namespace` of the extension. */
  installNamespace: string;
  /** `spec.config.inline`. */
  config?: JsonObject | undefined;
  /** Needed for bundles with webhooks or API services. */
  certProvider?: CertificateProvider | undefined;
  /** Whether bundles that do not support AllNamespaces are rendered, and configuration is asked for where it is required. Default true. */
  singleOwnNamespace?: boolean;
  /** Whether the configuration may hold `deploymentConfig`. Default true. */
  deploymentConfig?: boolean;
  /** Whether configuration and install modes count that the Go implementation does not know, such as several namespaces. Default true. */
  extendedConfig?: boolean;
  /** Proxy variables of the cluster, which the Deployments get unless the configuration names one of them. */
  proxy?: ProxyVariables | undefined;
  /** Whether bundles with API services of their own are rendered. Default true. */
  ownedApiServices?: boolean;
}

const GENERATORS: readonly Generator[] = [
  serviceAccounts,
  roles,
  clusterRoles,
  crds,
  additionalResources,
  trustedCaConfigMaps,
  deployments,
  validatingWebhooks,
  mutatingWebhooks,
  services,
  certificateObjects,
  apiServiceRights,
  apiServices,
];

/**
 * The objects of a bundle for one extension, always the same for the same input, in the order in which generators make them.
 * Members stand in the order in which Go prints them. Parts may be shared with the bundle: treat both as read-only.
 * @throws TerminalError InvalidConfiguration when the configuration does not fit the bundle.
 * @throws TerminalError Blocked for more or larger objects than `BUNDLE_LIMITS` allows.
 * @throws RetryableError Retrying when the bundle cannot be rendered, in operator-controller's words.
 * @see operator-controller internal/operator-controller/applier/provider.go
 */
export function renderBundle(bundle: RegistryV1Bundle, options: RenderOptions): KubeObject[] {
  const { installNamespace, certProvider, proxy } = options;
  checkSupported(bundle.csv, options);
  const { watchNamespaces, deploymentConfigs } = configOf(bundle.csv, options);
  const faults = validateBundle(bundle);
  if (faults.length > 0) throw refused(faults.join("\n"));
  const targets = targetNamespaces(bundle.csv, watchNamespaces);
  const fault = targetFault(bundle.csv, installNamespace, targets);
  if (fault !== undefined) throw refused(`invalid option(s): invalid target namespaces [${targets.join(" ")}]: ${fault}`);
  const generatorOptions = { installNamespace, targetNamespaces: targets, certProvider, deploymentConfigs, proxy };
  checkRoles(bundle.csv, targets);
  const objects = GENERATORS.flatMap((generator) => generator(bundle, generatorOptions));
  checkRendered(objects);
  return objects;
}

function checkSupported({ spec }: Csv, options: RenderOptions): void {
  const { certProvider, singleOwnNamespace = true, extendedConfig = true, ownedApiServices = true } = options;
  if ((spec.apiservicedefinitions.owned ?? []).length > 0) {
    const text = "unsupported bundle: apiServiceDefintions are not supported"; // misspelt upstream
    if (!ownedApiServices) throw refused(text);
    if (!certProvider) throw refused(`${text}: certificate provider is nil`);
  }
  if ((spec.webhookdefinitions ?? []).length > 0 && !certProvider) {
    throw refused("unsupported bundle: webhookDefinitions are not supported: certificate provider is nil");
  }
  const modes = installModes({ spec } as Csv);
  if (!singleOwnNamespace && !modes.has("AllNamespaces"))
    throw refused("unsupported bundle: bundle does not support AllNamespaces install mode");
  const usable = ["AllNamespaces", "SingleNamespace", "OwnNamespace", ...(extendedConfig ? ["MultiNamespace"] : [])];
  if (!usable.some((mode) => modes.has(mode))) {
    throw refused("unsupported bundle: bundle must support at least one of [AllNamespaces SingleNamespace OwnNamespace] install modes");
  }
}

function configOf(csv: Csv, options: RenderOptions): BundleConfig {
  const { installNamespace, config, singleOwnNamespace = true, deploymentConfig = true, extendedConfig: extended = true } = options;
  if (!singleOwnNamespace && config === undefined) return { deploymentConfigs: [] };
  return bundleConfig(csv, config, { installNamespace, deploymentConfig, extended });
}

function refused(text: string): RetryableError {
  return new RetryableError(Reason.Retrying, text);
}
