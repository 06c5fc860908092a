import { Reason } from "../api/constants.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import type { ProxyVariables } from "../api/proxy.ts";
import { BUNDLE_LIMITS, createBundleTooLargeError } from "../bundle/limits.ts";
import type { Csv, NamedItem, RegistryV1Bundle } from "../bundle/types.ts";
import { listSupportedInstallModes, validateBundle } from "../bundle/validate.ts";
import type { CertificateProvider } from "../certificates/providers.ts";
import { RetryableError } from "../errors/errors.ts";
import { encodeGoJson } from "../golang/json.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { type BundleConfig, readBundleConfig } from "./config.ts";
import {
  type Generator,
  generateAdditionalResources,
  generateClusterRoles,
  generateCrds,
  generateDeployments,
  generateRoles,
  generateServiceAccounts,
} from "./generators.ts";
import { generateOperatorCondition, type OperatorConditionUse } from "./operatorCondition.ts";
import { buildTrustedCaConfigMaps } from "./trustedCa.ts";
import { chooseTargetNamespaces, findTargetFault } from "./watchScope.ts";
import {
  generateApiServicePermissions,
  generateApiServices,
  generateCertificateObjects,
  generateMutatingWebhooks,
  generateServices,
  generateValidatingWebhooks,
} from "./webhookGenerators.ts";

/**
 * Checks the number of Roles and RoleBindings of a bundle before rendering: one of each per permission and watched namespace.
 * @throws TerminalError Blocked if it exceeds the limit of rendered objects.
 */
function checkRoles({ spec }: Pick<Csv, "spec">, namespaces: readonly string[]): void {
  const { renderedObjects: most } = BUNDLE_LIMITS;
  const permissions = spec.install.spec.permissions?.length ?? 0;
  const objects = 2 * permissions * namespaces.length;
  if (objects > most)
    throw createBundleTooLargeError(
      `its ${permissions} permissions in ${namespaces.length} watched namespaces render to ${objects} objects, more than the ${most} allowed`,
    );
}

/**
 * Checks the number of rendered objects and their size as JSON.
 * @throws TerminalError Blocked if the number of objects, the size of one object or the total size exceeds a limit.
 */
function checkRendered(objects: readonly KubeObject[]): void {
  const { renderedObjects, renderedObjectBytes, renderedBytes } = BUNDLE_LIMITS;
  if (objects.length > renderedObjects)
    throw createBundleTooLargeError(`it renders to ${objects.length} objects, more than the ${renderedObjects} allowed`);
  let bytes = 0;
  for (const object of objects) {
    const size = jsonBytes(object);
    if (size > renderedObjectBytes)
      throw createBundleTooLargeError(
        `its ${formatKindAndName(object)} is ${size} bytes as JSON, but an API server accepts at most ${renderedObjectBytes}`,
      );
    bytes += size;
    if (bytes > renderedBytes)
      throw createBundleTooLargeError(`its objects have ${bytes} bytes as JSON, more than the ${renderedBytes} allowed`);
  }
}

/** Formats kind and name. Both can be missing in a manifest. */
function formatKindAndName({ kind, metadata }: Partial<KubeObject>): string {
  return truncateExcerpt(`${kind} ${metadata?.name}`);
}

function jsonBytes(object: KubeObject): number {
  try {
    return Buffer.byteLength(JSON.stringify(object));
  } catch {
    // Tries JSON.stringify first: it is twice as fast, but does not support bigint.
    return Buffer.byteLength(encodeGoJson(object));
  }
}

/** Options for rendering a bundle. */
export interface RenderOptions {
  /** `spec.namespace` of the extension. */
  installNamespace: string;
  /** `spec.config.inline`. */
  config?: JsonObject | undefined;
  /** Required for bundles with webhooks or API services. */
  certProvider?: CertificateProvider | undefined;
  /** Whether to render bundles that do not support AllNamespaces, and to check for required configuration. Default true. */
  singleOwnNamespace?: boolean;
  /** Whether the configuration can contain `deploymentConfig`. Default true. */
  deploymentConfig?: boolean;
  /** Whether to accept configuration and install modes that the Go implementation does not support, such as several namespaces. Default true. */
  extendedConfig?: boolean;
  /** Proxy variables of the cluster for the Deployments. Ignored if the configuration sets one of them. */
  proxy?: ProxyVariables | undefined;
  /** `spec.install.imagePullSecrets` of the extension. */
  imagePullSecrets?: readonly NamedItem[] | undefined;
  /** Whether to render bundles that own API services. Default true. */
  ownedApiServices?: boolean;
  /** What the bundle gets for its OperatorCondition. Default None, as the Go implementation. */
  operatorCondition?: OperatorConditionUse | undefined;
}

const GENERATORS: readonly Generator[] = [
  generateServiceAccounts,
  generateRoles,
  generateClusterRoles,
  generateOperatorCondition,
  generateCrds,
  generateAdditionalResources,
  buildTrustedCaConfigMaps,
  generateDeployments,
  generateValidatingWebhooks,
  generateMutatingWebhooks,
  generateServices,
  generateCertificateObjects,
  generateApiServicePermissions,
  generateApiServices,
];

/**
 * Renders the objects of a bundle for one extension, in the order of the generators. The same input always results in the same objects. Fields have
 * the order of Go's JSON. Objects can share parts with the bundle: treat both as read-only.
 * @throws TerminalError InvalidConfiguration if the configuration is invalid for the bundle.
 * @throws TerminalError Blocked if the objects exceed `BUNDLE_LIMITS`.
 * @throws RetryableError Retrying with the text of operator-controller if the bundle cannot be rendered.
 * @see operator-controller df2c201d internal/operator-controller/applier/provider.go
 */
export function renderBundle(bundle: RegistryV1Bundle, options: RenderOptions): KubeObject[] {
  const { installNamespace, certProvider, proxy, imagePullSecrets = [], operatorCondition } = options;
  checkSupported(bundle.csv, options);
  const { watchNamespaces, deploymentConfigs } = readConfig(bundle.csv, options);
  const faults = validateBundle(bundle);
  if (faults.length > 0) throw new InvalidBundleError(faults.join("\n"));
  const targets = chooseTargetNamespaces(bundle.csv, watchNamespaces);
  const fault = findTargetFault(bundle.csv, installNamespace, targets);
  if (fault !== undefined) throw createBundleError(`invalid option(s): invalid target namespaces [${targets.join(" ")}]: ${fault}`);
  const place = { installNamespace, targetNamespaces: targets };
  const generatorOptions = { ...place, certProvider, deploymentConfigs, proxy, imagePullSecrets, operatorCondition };
  checkRoles(bundle.csv, targets);
  const objects = GENERATORS.flatMap((generator) => generator(bundle, generatorOptions));
  checkRendered(objects);
  return objects;
}

function checkSupported({ spec }: Csv, options: RenderOptions): void {
  const { certProvider, singleOwnNamespace = true, extendedConfig = true, ownedApiServices = true } = options;
  if ((spec.apiservicedefinitions.owned ?? []).length > 0) {
    const text = "unsupported bundle: apiServiceDefintions are not supported"; // misspelt upstream
    if (!ownedApiServices) throw createBundleError(text);
    if (!certProvider) throw createBundleError(`${text}: certificate provider is nil`);
  }
  if ((spec.webhookdefinitions ?? []).length > 0 && !certProvider) {
    throw createBundleError("unsupported bundle: webhookDefinitions are not supported: certificate provider is nil");
  }
  const modes = listSupportedInstallModes({ spec } as Csv);
  if (!singleOwnNamespace && !modes.has("AllNamespaces"))
    throw createBundleError("unsupported bundle: bundle does not support AllNamespaces install mode");
  const usable = ["AllNamespaces", "SingleNamespace", "OwnNamespace", ...(extendedConfig ? ["MultiNamespace"] : [])];
  if (!usable.some((mode) => modes.has(mode))) {
    throw createBundleError(
      "unsupported bundle: bundle must support at least one of [AllNamespaces SingleNamespace OwnNamespace] install modes",
    );
  }
}

function readConfig(csv: Csv, options: RenderOptions): BundleConfig {
  const { installNamespace, config, singleOwnNamespace = true, deploymentConfig = true, extendedConfig: extended = true } = options;
  if (!singleOwnNamespace && config === undefined) return { deploymentConfigs: [] };
  return readBundleConfig(csv, config, { installNamespace, deploymentConfig, extended });
}

/** Error for a bundle that fails validation or that the Go operator-controller does not support. */
export class InvalidBundleError extends RetryableError {
  constructor(message: string) {
    super(Reason.Retrying, message, { problems: [newProblem("BundleInvalid", { message })] });
  }
}

function createBundleError(text: string): RetryableError {
  return new RetryableError(Reason.Retrying, text, { problems: [newProblem("BundleInvalid", { message: text })] });
}
