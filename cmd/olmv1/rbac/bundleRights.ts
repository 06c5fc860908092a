import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { servingDeployments } from "../../../pkg/bundle/apiServices.ts";
import type { RegistryV1Bundle } from "../../../pkg/bundle/types.ts";
import { CERTIFICATE_PROVIDERS } from "../../../pkg/certificates/providers.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import type { WebhookCertProvider } from "../../../pkg/operatorcontroller/certificates/providerNames.ts";
import type { RoleStrategy } from "../../../pkg/rbac/escalation.ts";
import type { Installer } from "../../../pkg/rbac/installerManifests.ts";
import { type RequiredRules, givenRules, requiredRules, storedVersionRules } from "../../../pkg/rbac/requiredRules.ts";
import { unionOf } from "../../../pkg/rbac/ruleSets.ts";
import { userRoles } from "../../../pkg/rbac/userRoles.ts";
import { objectKey } from "../../../pkg/release/identity.ts";
import type { CrdPolicy } from "../../../pkg/release/plan.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { compareVersions, parseVersion } from "../../../pkg/version/version.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { BundleReader } from "./bundleReader.ts";
import type { SourceName } from "./valuesFrom.ts";

/** How an extension is to have the bundles. */
export interface BundleOptions {
  namespace?: string;
  serviceAccount?: string;
  /** One is `watchNamespace` of the configuration, several are `watchNamespaces`. */
  watchNamespace?: readonly string[];
  /** ConfigMaps that `trustedCA` of the configuration creates. */
  trustedCaConfigMap?: readonly string[];
  /** `spec.config.inline` as a whole, in place of what the two above say about it. */
  config?: JsonObject | undefined;
  strategy: RoleStrategy;
  crdPolicy: CrdPolicy;
  /** With auto the rights do for whichever provider operator-controller may choose. */
  webhookCertProvider: WebhookCertProvider;
  aggregateUserRoles?: boolean;
  /** What spec.config.valuesFrom names. */
  valuesFrom?: readonly SourceName[];
}

/** Everything about rights that is in one bundle. */
export interface BundleRights {
  /** Of the ClusterServiceVersion. */
  name: string;
  installer: Installer;
  /** What the installer needs. */
  needed: RequiredRules;
  /** What the bundle's roles give to its own ServiceAccounts. */
  given: RequiredRules;
  /** ClusterRoles for the users of its APIs. */
  userRoles: KubeObject[];
  /** Of the ClusterServiceVersion. */
  version: string;
  /** As they are installed. */
  objects: readonly KubeObject[];
}

const SUGGESTED = "operatorframework.io/suggested-namespace";

/**
 * Reads the bundles one after another.
 * @param installer for all of them; default: the options', completed from the first bundle.
 * @throws Error that names the bundle. Kinds of which the resource is not known are told on standard error.
 */
export async function bundleRights(
  terminal: Pick<Terminal, "err">,
  sources: readonly string[],
  options: BundleOptions,
  reader: Pick<BundleReader, "bundle">,
  installer?: Installer,
): Promise<BundleRights[]> {
  const found: BundleRights[] = [];
  for (const source of sources) {
    try {
      const bundle = await reader.bundle(source);
      const rights = rightsOf(bundle, options, installer ?? found[0]?.installer ?? installerOf(bundle, options));
      for (const { apiVersion, kind } of rights.needed.unknownKinds)
        terminal.err(`olmv1: ${source}: kind ${kind} (${apiVersion}) is not known here: the rules for it are missing below\n`);
      found.push(rights);
    } catch (err) {
      throw wrapError(`${source}: `, err);
    }
  }
  return found;
}

/** What an installer needs for all of these bundles and for upgrades from each to the later ones. */
export function rulesFor(rights: readonly BundleRights[]): RequiredRules {
  return unionOf([...rights.map(({ needed }) => needed), upgradeRules(rights)]);
}

/** What upgrades from each of these bundles to the later ones take beside that. */
export function upgradeRules(rights: readonly BundleRights[]): RequiredRules {
  const ordered = rights.toSorted((a, b) => compareVersions(parseVersion(a.version), parseVersion(b.version)));
  return storedVersionRules(ordered.map(({ objects }) => objects));
}

/** `objects` without repeats; of those with one name the first. */
export function distinctObjects(objects: readonly KubeObject[]): KubeObject[] {
  const distinct = new Map<string, KubeObject>();
  for (const object of objects) if (!distinct.has(objectKey(object))) distinct.set(objectKey(object), object);
  return [...distinct.values()];
}

function rightsOf(bundle: RegistryV1Bundle, options: BundleOptions, installer: Installer): BundleRights {
  const { watchNamespace: watched = [], strategy, crdPolicy, aggregateUserRoles, webhookCertProvider: wanted, valuesFrom = [] } = options;
  const installNamespace = installer.namespace;
  const config = options.config ?? configFor(watched, options.trustedCaConfigMap ?? []);
  const needsCertificates = servingDeployments(bundle.csv).size > 0;
  const providers =
    needsCertificates && wanted !== "none" ? CERTIFICATE_PROVIDERS.filter(({ name }) => wanted === "auto" || name === wanted) : [undefined];
  const renderings = providers.map((certProvider) => renderBundle(bundle, { installNamespace, config, certProvider }));
  const [rendered = []] = renderings;
  const forUsers = userRoles(rendered);
  const needed = renderings.map((objects) =>
    requiredRules(aggregateUserRoles ? [...objects, ...forUsers] : objects, { installNamespace, strategy, crdPolicy, valuesFrom }),
  );
  return {
    name: bundle.csv.metadata.name ?? "",
    installer,
    needed: unionOf(needed),
    given: givenRules(rendered, installNamespace),
    userRoles: forUsers,
    version: bundle.csv.spec.version,
    objects: rendered,
  };
}

function configFor(watched: readonly string[], trustedCas: readonly string[]): JsonObject | undefined {
  const scope = watched.length > 1 ? { watchNamespaces: [...watched] } : watched.length > 0 ? { watchNamespace: watched[0] } : {};
  const configs = trustedCas.map((configMapName) => ({ selector: {}, trustedCA: { configMapName, create: true } }));
  const config = { ...scope, ...(configs.length > 0 ? { deploymentConfigs: configs } : {}) };
  return Object.keys(config).length > 0 ? config : undefined;
}

function installerOf(bundle: RegistryV1Bundle, { namespace, serviceAccount }: BundleOptions): Installer {
  return { namespace: namespace ?? namespaceFor(bundle), name: serviceAccount ?? `${bundle.packageName}-installer` };
}

/** Where a bundle is installed unless something else is said: where it suggests, else in a namespace called as its package. */
export function namespaceFor({ csv, packageName }: RegistryV1Bundle): string {
  return csv.metadata.annotations?.[SUGGESTED] ?? packageName;
}
