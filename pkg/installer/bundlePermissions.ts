import type { ValuesSource } from "../api/extensionConfig.ts";
import type { WebhookCertProvider } from "../api/flagValues.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { readSuggestedNamespace } from "../bundle/suggestedNamespace.ts";
import type { RegistryV1Bundle } from "../bundle/types.ts";
import { CERTIFICATE_PROVIDERS } from "../certificates/providers.ts";
import { wrapError } from "../errors/errors.ts";
import type { RenderableBundle } from "../operatorcontroller/bundles/bundleCache.ts";
import type { RoleStrategy } from "../rbac/escalation.ts";
import type { Installer } from "../rbac/installerManifests.ts";
import { computeGrantedRules, computeRequiredRules, computeStoredVersionRules, type RequiredRules } from "../rbac/requiredRules.ts";
import { diffRules, formatRulesDiff, mergeRequiredRules, type RulesDiff } from "../rbac/ruleSets.ts";
import { buildUserRoles } from "../rbac/userRoles.ts";
import { getObjectKey } from "../release/identity.ts";
import type { CrdPolicy } from "../release/plan.ts";
import { escapeLines } from "../text/escape.ts";
import { compareVersions, parseVersion } from "../version/version.ts";

/** A ConfigMap or Secret that contains configuration values. */
export type SourceName = Pick<ValuesSource, "kind" | "name">;

/** Options that determine how the bundles are installed. */
export interface BundleOptions {
  namespace?: string;
  serviceAccount?: string;
  /** A single namespace is set as `watchNamespace` in the configuration, several as `watchNamespaces`. */
  watchNamespace?: readonly string[];
  /** ConfigMaps that `trustedCA` in the configuration creates. */
  trustedCaConfigMap?: readonly string[];
  /** The whole `spec.config.inline`; replaces the configuration from the two previous fields. */
  config?: JsonObject | undefined;
  strategy: RoleStrategy;
  crdPolicy: CrdPolicy;
  /** With auto, the permissions suffice for every provider that operator-controller may select. */
  webhookCertProvider: WebhookCertProvider;
  aggregateUserRoles?: boolean;
  /** Whether the cluster serves OperatorConditions, so that the bundle gets one. Default: false. */
  operatorCondition?: boolean;
  /** Whether spec.install.storageMigration is Automatic. Default: false. */
  migrateStorage?: boolean;
  /** The sources in spec.config.valuesFrom. */
  valuesFrom?: readonly SourceName[];
}

/** The permissions of one bundle. */
export interface BundlePermissions {
  /** Name of the ClusterServiceVersion. */
  name: string;
  installer: Installer;
  /** The installer's permissions. */
  needed: RequiredRules;
  /** The permissions that the bundle's roles grant to its own ServiceAccounts. */
  given: RequiredRules;
  /** ClusterRoles for the users of its APIs. */
  userRoles: KubeObject[];
  /** Version of the ClusterServiceVersion. */
  version: string;
  /** As installed. */
  objects: readonly KubeObject[];
}

/**
 * Reads the bundles one after another and returns their permissions. Prints kinds with an unknown resource to standard error.
 * @param installer for all bundles; default: from the options, completed from the first bundle
 * @throws Error with the name of the bundle
 */
export async function computeBundlePermissions(
  terminal: { readonly err: (text: string) => void },
  sources: readonly string[],
  options: BundleOptions,
  read: (source: string) => Promise<RenderableBundle>,
  installer?: Installer,
): Promise<BundlePermissions[]> {
  const found: BundlePermissions[] = [];
  for (const source of sources) {
    try {
      const bundle = await read(source);
      const permissions = await computePermissions(bundle, options, installer ?? found[0]?.installer ?? chooseInstaller(bundle, options));
      for (const { apiVersion, kind } of permissions.needed.unknownKinds)
        terminal.err(`olmv1: ${source}: unknown kind ${kind} (${apiVersion}): the rules below do not include it\n`);
      found.push(permissions);
    } catch (err) {
      throw wrapError(`${source}: `, err);
    }
  }
  return found;
}

/** Returns the rules for installing all of these bundles and for upgrades from each to the later ones. */
export function mergeRules(permissions: readonly BundlePermissions[]): RequiredRules {
  return mergeRequiredRules([...permissions.map(({ needed }) => needed), computeUpgradeRules(permissions)]);
}

/** Returns the additional rules for upgrades from each of these bundles to the later ones. */
function computeUpgradeRules(permissions: readonly BundlePermissions[]): RequiredRules {
  const ordered = permissions.toSorted((a, b) => compareVersions(parseVersion(a.version), parseVersion(b.version)));
  return computeStoredVersionRules(ordered.map(({ objects }) => objects));
}

/** Returns `objects` without duplicates. Keeps the first object with each name. */
export function removeDuplicateObjects(objects: readonly KubeObject[]): KubeObject[] {
  const distinct = new Map<string, KubeObject>();
  for (const object of objects) if (!distinct.has(getObjectKey(object))) distinct.set(getObjectKey(object), object);
  return [...distinct.values()];
}

async function computePermissions(bundle: RenderableBundle, options: BundleOptions, installer: Installer): Promise<BundlePermissions> {
  const { watchNamespace: watched = [], strategy, crdPolicy, aggregateUserRoles, webhookCertProvider: wanted, valuesFrom = [] } = options;
  const installNamespace = installer.namespace;
  const migratesStorage = options.migrateStorage ?? false;
  const operatorCondition = options.operatorCondition ? "All" : "None";
  const config = options.config ?? configFor(watched, options.trustedCaConfigMap ?? []);
  const providers =
    bundle.needsCertificates && wanted !== "none"
      ? CERTIFICATE_PROVIDERS.filter(({ name }) => wanted === "auto" || name === wanted)
      : [undefined];
  const renderings = await Promise.all(
    providers.map((certProvider) => bundle.render({ installNamespace, config, certProvider, operatorCondition })),
  );
  const [rendered = []] = renderings;
  const forUsers = buildUserRoles(rendered);
  const needed = renderings.map((objects) =>
    computeRequiredRules(aggregateUserRoles ? [...objects, ...forUsers] : objects, {
      installNamespace,
      strategy,
      crdPolicy,
      migratesStorage,
      valuesFrom,
    }),
  );
  return {
    name: bundle.name,
    installer,
    needed: mergeRequiredRules(needed),
    given: computeGrantedRules(rendered, installNamespace),
    userRoles: forUsers,
    version: bundle.version,
    objects: rendered,
  };
}

function configFor(watched: readonly string[], trustedCas: readonly string[]): JsonObject | undefined {
  const scope = watched.length > 1 ? { watchNamespaces: [...watched] } : watched.length > 0 ? { watchNamespace: watched[0] } : {};
  const configs = trustedCas.map((configMapName) => ({ selector: {}, trustedCA: { configMapName, create: true } }));
  const config = { ...scope, ...(configs.length > 0 ? { deploymentConfigs: configs } : {}) };
  return Object.keys(config).length > 0 ? config : undefined;
}

function chooseInstaller({ packageName, annotations }: RenderableBundle, { namespace, serviceAccount }: BundleOptions): Installer {
  return {
    namespace: namespace ?? readSuggestedNamespace(packageName, annotations).name,
    name: serviceAccount ?? `${packageName}-installer`,
  };
}

/** Returns the default namespace of a bundle. */
export function chooseNamespace({ csv, packageName }: RegistryV1Bundle): string {
  return readSuggestedNamespace(packageName, csv.metadata.annotations ?? {}).name;
}

/** The difference between the permissions for two sets of bundles. */
export interface PermissionsDiff {
  from: string[];
  to: string[];
  account: Installer | undefined;
  /** The installer's permissions. */
  installer: RulesDiff;
  /** The permissions that the bundles grant to their own ServiceAccounts. */
  operator: RulesDiff;
}

/** Compares the permissions for two sets of bundles. The added permissions include permissions for the upgrade itself. */
export function diffPermissions(from: readonly BundlePermissions[], to: readonly BundlePermissions[]): PermissionsDiff {
  const given = (side: readonly BundlePermissions[]): RequiredRules => mergeRequiredRules(side.map((permissions) => permissions.given));
  return {
    from: from.map(({ name }) => name),
    to: to.map(({ name }) => name),
    account: to[0]?.installer,
    installer: diffRules(mergeRules(from), mergeRequiredRules([mergeRules(to), computeUpgradeRules([...from, ...to])])),
    operator: diffRules(given(from), given(to)),
  };
}

/**
 * Formats the difference for a terminal: the bundles, then added and removed rules of installer and
 * operator.
 */
export function formatPermissionsDiff({ from, to, account, installer, operator }: PermissionsDiff): string {
  return [
    `from ${from.map(escapeLines).join(", ")} to ${to.map(escapeLines).join(", ")}`,
    "",
    `permissions of the installer (ServiceAccount ${account?.namespace}/${account?.name}):`,
    ...formatRulesDiff(installer).map((line) => `  ${line}`),
    "",
    "permissions that the bundle grants to its own ServiceAccounts:",
    ...formatRulesDiff(operator).map((line) => `  ${line}`),
    "",
  ].join("\n");
}
