import type { ValuesSource } from "../api/extensionConfig.ts";
import type { WebhookCertProvider } from "../api/flagValues.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { servingDeployments } from "../bundle/apiServices.ts";
import type { RegistryV1Bundle } from "../bundle/types.ts";
import { CERTIFICATE_PROVIDERS } from "../certificates/providers.ts";
import { wrapError } from "../errors/errors.ts";
import type { RoleStrategy } from "../rbac/escalation.ts";
import type { Installer } from "../rbac/installerManifests.ts";
import { givenRules, type RequiredRules, requiredRules, storedVersionRules } from "../rbac/requiredRules.ts";
import { diffLines, diffRules, type RulesDiff, unionOf } from "../rbac/ruleSets.ts";
import { userRoles } from "../rbac/userRoles.ts";
import { objectKey } from "../release/identity.ts";
import type { CrdPolicy } from "../release/plan.ts";
import { renderBundle } from "../render/render.ts";
import type { BundleReader } from "../sources/bundleReader.ts";
import { compareVersions, parseVersion } from "../version/version.ts";

/** An object that configuration is read from. */
export type SourceName = Pick<ValuesSource, "kind" | "name">;

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
  terminal: { readonly err: (text: string) => void },
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
function upgradeRules(rights: readonly BundleRights[]): RequiredRules {
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
  return { namespace: namespace ?? chooseNamespace(bundle), name: serviceAccount ?? `${bundle.packageName}-installer` };
}

/** Where a bundle is installed unless something else is said: where it suggests, else in a namespace called as its package. */
export function chooseNamespace({ csv, packageName }: RegistryV1Bundle): string {
  return csv.metadata.annotations?.[SUGGESTED] ?? packageName;
}

/** What changes from one set of bundles to another. */
export interface RightsDiff {
  from: string[];
  to: string[];
  account: Installer | undefined;
  /** What the installer needs. */
  installer: RulesDiff;
  /** What the bundles give to their own ServiceAccounts. */
  operator: RulesDiff;
}

/** Compares the unions of both sides; to those that come, the upgrade from the others belongs. */
export function rightsDiff(from: readonly BundleRights[], to: readonly BundleRights[]): RightsDiff {
  const given = (side: readonly BundleRights[]): RequiredRules => unionOf(side.map((rights) => rights.given));
  return {
    from: from.map(({ name }) => name),
    to: to.map(({ name }) => name),
    account: to[0]?.installer,
    installer: diffRules(rulesFor(from), unionOf([rulesFor(to), upgradeRules([...from, ...to])])),
    operator: diffRules(given(from), given(to)),
  };
}

/** The comparison as people read it. */
export function formatPermissionsDiff({ from, to, account, installer, operator }: RightsDiff): string {
  return [
    `from ${from.join(", ")} to ${to.join(", ")}`,
    "",
    `what the installer needs (ServiceAccount ${account?.namespace}/${account?.name}):`,
    ...diffLines(installer).map((line) => `  ${line}`),
    "",
    "what the bundle gives its own ServiceAccounts:",
    ...diffLines(operator).map((line) => `  ${line}`),
    "",
  ].join("\n");
}
