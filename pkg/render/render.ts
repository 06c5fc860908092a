import { Reason } from "../api/constants.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import type { ProxyVariables } from "../api/proxy.ts";
import { BUNDLE_LIMITS, bundleTooLarge } from "../bundle/limits.ts";
import type { Csv, RegistryV1Bundle } from "../bundle/types.ts";
import { supportedInstallModes, validateBundle } from "../bundle/validate.ts";
import type { CertificateProvider } from "../certificates/providers.ts";
import { RetryableError } from "../errors/errors.ts";
import { goJson } from "../golang/json.ts";
import { excerpt } from "../text/truncate.ts";
import { type BundleConfig, bundleConfig } from "./config.ts";
import { additionalResources, clusterRoles, crds, deployments, type Generator, roles, serviceAccounts } from "./generators.ts";
import { trustedCaConfigMaps } from "./trustedCa.ts";
import { targetFault, targetNamespaces } from "./watchScope.ts";
import { apiServiceRights, apiServices, certificateObjects, mutatingWebhooks, services, validatingWebhooks } from "./webhookGenerators.ts";

/**
 * Checks how many objects the permissions of a bundle render to, before they are rendered: a Role and a RoleBinding in each watched namespace.
 * @throws TerminalError Blocked above the limit on rendered objects.
 */
function checkRoles({ spec }: Pick<Csv, "spec">, namespaces: readonly string[]): void {
  const { renderedObjects: most } = BUNDLE_LIMITS;
  const permissions = spec.install.spec.permissions?.length ?? 0;
  const objects = 2 * permissions * namespaces.length;
  if (objects > most)
    throw bundleTooLarge(
      `its ${permissions} permissions in ${namespaces.length} watched namespaces render to ${objects} objects, more than the ${most} allowed`,
    );
}

/**
 * Checks the size of rendered objects as JSON.
 * @throws TerminalError Blocked above a limit on the number of objects, on the bytes of one, which it names, or on the bytes of all.
 */
function checkRendered(objects: readonly KubeObject[]): void {
  const { renderedObjects, renderedObjectBytes, renderedBytes } = BUNDLE_LIMITS;
  if (objects.length > renderedObjects)
    throw bundleTooLarge(`it renders to ${objects.length} objects, more than the ${renderedObjects} allowed`);
  let bytes = 0;
  for (const object of objects) {
    const size = jsonBytes(object);
    if (size > renderedObjectBytes)
      throw bundleTooLarge(
        `its ${described(object)} has ${size} bytes as JSON, more than the ${renderedObjectBytes} an API server accepts`,
      );
    bytes += size;
    if (bytes > renderedBytes) throw bundleTooLarge(`its objects have ${bytes} bytes as JSON, more than the ${renderedBytes} allowed`);
  }
}

/** Kind and name, which a manifest may lack. */
function described({ kind, metadata }: Partial<KubeObject>): string {
  return excerpt(`${kind} ${metadata?.name}`);
}

function jsonBytes(object: KubeObject): number {
  try {
    return Buffer.byteLength(JSON.stringify(object));
  } catch {
    // JSON.stringify does not write bigint, and is twice as fast.
    return Buffer.byteLength(goJson(object));
  }
}

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
 * @see operator-controller df2c201d internal/operator-controller/applier/provider.go
 */
export function renderBundle(bundle: RegistryV1Bundle, options: RenderOptions): KubeObject[] {
  const { installNamespace, certProvider, proxy } = options;
  checkSupported(bundle.csv, options);
  const { watchNamespaces, deploymentConfigs } = configOf(bundle.csv, options);
  const faults = validateBundle(bundle);
  if (faults.length > 0) throw new InvalidBundleError(faults.join("\n"));
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
  const modes = supportedInstallModes({ spec } as Csv);
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

/** A bundle that no validator of the Go operator-controller accepts, or that it does not support. */
export class InvalidBundleError extends RetryableError {
  constructor(message: string) {
    super(Reason.Retrying, message, { problems: [newProblem("BundleInvalid", { message })] });
  }
}

function refused(text: string): RetryableError {
  return new RetryableError(Reason.Retrying, text, { problems: [newProblem("BundleInvalid", { message: text })] });
}
