import { EXTENSION_NAME_MAX } from "../api/constants.ts";
import type { InstalledCsv } from "./clusterServiceVersion.ts";
import { type EligibilityInput, findSameBundles } from "./eligibilityInput.ts";
import { getSubscriptionKey, type Subscription } from "./subscription.ts";

/** A finding of a check, and what to do about it. */
export interface EligibilityFinding {
  /** One sentence without a full stop. */
  readonly text: string;
  /** What to do about it. */
  readonly next: string;
}

/** Returns a finding; undefined if the check passes. */
type EligibilityCheck = (subscription: Subscription, around: EligibilityInput) => EligibilityFinding | undefined;

/** Returns the findings of all checks, each with its code, in order. */
export function runChecks<Code extends string>(
  checks: Readonly<Record<Code, EligibilityCheck>>,
  subscription: Subscription,
  around: EligibilityInput,
): (EligibilityFinding & { readonly code: Code })[] {
  return (Object.entries(checks) as [Code, EligibilityCheck][]).flatMap(([code, check]) => {
    const held = check(subscription, around);
    return held ? [{ code, ...held }] : [];
  });
}

/** No catalog can provide updates; all findings are reported. */
export const CATALOG_BLOCKS = {
  NoClusterCatalog: ({ packageName, installedCsv, source, sourceNamespace }, { csv, offers, sourceImage }) => {
    if (!csv || offers.bundles.length > 0) return undefined;
    const unread = offers.unread.length > 0 ? ` (not read: ${offers.unread.join("; ")})` : "";
    const from =
      source === undefined
        ? ""
        : ` with the image of CatalogSource "${sourceNamespace ?? "?"}/${source}"${sourceImage === undefined ? "" : `, ${sourceImage}`}`;
    const made = sourceImage === undefined ? "" : `: olmv1 migrate catalogs ${source ?? ""} -n ${sourceNamespace ?? ""} --yes creates one`;
    const next = `add a ClusterCatalog that contains it${from}`;
    if (offers.catalogs.length === 0) return { text: `no ClusterCatalog has package "${packageName}"${unread}`, next: `${next}${made}` };
    return {
      text: `package "${packageName}" is in ClusterCatalog ${offers.catalogs.join(", ")}, but bundle "${installedCsv ?? ""}" with version ${csv.version} is not${unread}`,
      next: `${next}, or let OLM v0 upgrade to an available version`,
    };
  },
  VersionDiffers: (_, { csv, offers }) =>
    !csv || offers.bundles.length === 0 || findSameBundles(offers, csv).length > 0
      ? undefined
      : {
          text: `bundle "${csv.name}" has version ${csv.version} on the cluster, and ${offers.bundles.map(({ version, catalog }) => `${version} in ClusterCatalog ${catalog}`).join(", ")}`,
          next: "add a ClusterCatalog with the installed version, or let OLM v0 upgrade to an available version",
        },
  NotInChannel: ({ channel }, { csv, offers }) => {
    const bundles = csv ? findSameBundles(offers, csv) : [];
    return channel === undefined || bundles.length === 0 || bundles.some(({ channels }) => channels.includes(channel))
      ? undefined
      : {
          text: `channel "${channel}" no longer contains the installed bundle in ClusterCatalog ${bundles.map(({ catalog }) => catalog).join(", ")}`,
          next: `change spec.channel of the Subscription to one that contains it: ${[...new Set(bundles.flatMap(({ channels }) => channels))].join(", ")}`,
        };
  },
} as const satisfies Record<string, EligibilityCheck>;

export type CatalogBlock = keyof typeof CATALOG_BLOCKS;

/** The operator cannot be converted; all findings are reported. */
export const OPERATOR_BLOCKS = {
  NoAllNamespaces: (_, { csv }) =>
    !csv || csv.supportsAllNamespaces
      ? undefined
      : {
          text: "the operator does not support install mode AllNamespaces",
          next: "install a version that does, or keep it with OLM v0",
        },
  HasDependencies: (_, { csv }) =>
    !csv || csv.dependencies.length === 0
      ? undefined
      : {
          text: `the operator depends on ${csv.dependencies.join(", ")}`,
          next: "OLM v0 keeps its dependencies installed: install them as ClusterExtensions and reinstall this operator, or keep it with OLM v0",
        },
  RequiredByOthers: ({ packageName }, { csv, csvs }) => {
    if (!csv) return undefined;
    const provided = new Set([`package:${packageName}`, ...csv.provides]);
    const others = csvs.filter(
      (other) => other.namespace === csv.namespace && other.name !== csv.name && other.requires.some((key) => provided.has(key)),
    );
    return others.length > 0
      ? {
          text: `other operators of its namespace depend on it: ${others.map(({ name }) => name).join(", ")}`,
          next: "OLM v0 would reinstall it for them: convert or remove them first",
        }
      : undefined;
  },
  HasApiServices: (_, { csv }) =>
    !csv || csv.apiServices.length === 0
      ? undefined
      : {
          text: `the operator serves aggregated APIs: APIService ${csv.apiServices.join(", ")}`,
          next: "OLM v0 deletes them with the ClusterServiceVersion, which interrupts the APIs: reinstall it as a ClusterExtension",
        },
  DeletesOperands: (_, { csv }) =>
    csv?.deletesOperands
      ? {
          text: "deleting its ClusterServiceVersion deletes custom resources (spec.cleanup.enabled)",
          next: `disable that: kubectl patch csv ${csv.name} -n ${csv.namespace} --type merge -p '{"spec":{"cleanup":{"enabled":false}}}'`,
        }
      : undefined,
} as const satisfies Record<string, EligibilityCheck>;

export type OperatorBlock = keyof typeof OPERATOR_BLOCKS;

const SETTLED: ReadonlySet<string> = new Set(["AtLatestKnown", "UpgradePending"]);
/** Phases of an inactive InstallPlan. */
const IDLE_PLANS: ReadonlySet<string> = new Set(["RequiresApproval", "Failed"]);
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const WAIT =
  "wait until the operator is installed and healthy; to see the reason, run kubectl get csv,subscription,installplan in its namespace";

/** The Subscription or its state in OLM v0 prevents a conversion; all findings are reported. */
export const SUBSCRIPTION_BLOCKS = {
  GeneratedAsDependency: ({ generatedBy }) =>
    generatedBy === undefined
      ? undefined
      : {
          text: `OLM v0 created this Subscription as a dependency of another operator (annotation olm.generated-by: ${generatedBy})`,
          next: "only operators that you subscribed to can be converted: remove the operator that depends on it first, or subscribe to the package yourself",
        },
  NotInstalled: ({ installedCsv, state, namespace }, { csv }) => {
    if (installedCsv === undefined)
      return {
        text: `it has not installed anything (state ${state ?? "unknown"})`,
        next: "wait for the installation or approve its InstallPlan; if the Subscription never installed anything, delete it",
      };
    return csv
      ? undefined
      : {
          text: `its installed ClusterServiceVersion "${installedCsv}" does not exist in namespace "${namespace}"`,
          next: "let OLM v0 repair the Subscription, or delete it",
        };
  },
  NotSettled: (subscription, around) => {
    const text = findPendingChange(subscription, around);
    return text === undefined ? undefined : { text, next: WAIT };
  },
  OperatorGroupUnclear: ({ namespace }, { csv, groups }) => {
    const [group, ...others] = groups;
    if (!csv) return undefined;
    if (!group || others.length > 0)
      return {
        text: `namespace "${namespace}" has ${group ? `${groups.length} OperatorGroups` : "no OperatorGroup"}, so the watched namespaces of the operator are unknown`,
        next: "keep exactly one OperatorGroup in the namespace",
      };
    if (!group.isSettled)
      return {
        text: `OperatorGroup "${group.name}" selects namespaces by their labels, and its status lists none`,
        next: "let OLM v0 update its status, or list the namespaces in spec.targetNamespaces",
      };
    return csv.targets === undefined || csv.targets.join() === group.targets.join()
      ? undefined
      : {
          text: `the operator watches ${watched(csv.targets)} (annotation olm.targetNamespaces), but OperatorGroup "${group.name}" targets ${watched(group.targets)}`,
          next: "let OLM v0 update the ClusterServiceVersion first",
        };
  },
  ConfigInvalid: (_, { configFault }) =>
    configFault === undefined
      ? undefined
      : {
          text: `spec.config of the Subscription cannot become the configuration of an extension: ${configFault}`,
          next: "correct spec.config of the Subscription",
        },
  InvalidName: (_, { extensionName }) =>
    extensionName.length <= EXTENSION_NAME_MAX && NAME.test(extensionName)
      ? undefined
      : {
          text: `"${extensionName}" is not a valid ClusterExtension name: use at most ${EXTENSION_NAME_MAX} lower case letters, digits, - and .`,
          next: "choose another name with --name",
        },
} as const satisfies Record<string, EligibilityCheck>;

export type SubscriptionBlock = keyof typeof SUBSCRIPTION_BLOCKS;

/** Returns why the installed version may change at any moment; undefined if it is stable. */
function findPendingChange(subscription: Subscription, { csv, csvs, planPhase }: EligibilityInput): string | undefined {
  const { state, isDeleted, installedCsv, currentCsv } = subscription;
  if (isDeleted) return "the Subscription is being deleted";
  if (!csv) return undefined;
  if (csv.isDeleted) return `ClusterServiceVersion "${csv.name}" is being deleted`;
  if (csv.phase !== "Succeeded") return `ClusterServiceVersion "${csv.name}" is in phase ${csv.phase || "(none)"}, not Succeeded`;
  const newer = csvs.find(({ namespace, replaces }) => namespace === csv.namespace && replaces === csv.name);
  if (newer) return `ClusterServiceVersion "${newer.name}" in phase ${newer.phase || "(none)"} is replacing "${csv.name}"`;
  const upgrade = currentCsv !== undefined && currentCsv !== installedCsv ? currentCsv : undefined;
  if (state !== undefined && !SETTLED.has(state))
    return `the Subscription is in state ${state}, not AtLatestKnown or UpgradePending${upgrade === undefined ? "" : `, an upgrade to "${upgrade}" is in progress`}`;
  if (upgrade === undefined || isIdle(subscription, planPhase)) return undefined;
  return `an upgrade to "${upgrade}" is in progress${planPhase === undefined ? "" : `: its InstallPlan is in phase ${planPhase}`}`;
}

/** Reports whether an upgrade waits for approval, by the InstallPlan or, without one, by the Subscription's conditions or approval mode. */
function isIdle({ approval, needsApproval }: Subscription, planPhase: string | undefined): boolean {
  return planPhase === undefined ? needsApproval || approval === "Manual" : IDLE_PLANS.has(planPhase);
}

function watched(targets: readonly string[]): string {
  return targets.length === 0 ? "all namespaces" : targets.join(", ");
}

/** Something other than the Subscription itself prevents the conversion; the first finding is reported. */
export const CONFLICTS = {
  ConversionUnfinished: (subscription, { extensions }) => {
    const found = extensions.find(({ migratedFrom }) => migratedFrom === getSubscriptionKey(subscription));
    if (!found) return undefined;
    return {
      text: `ClusterExtension "${found.name}" was created for it and the Subscription still exists: a conversion stopped after step ${found.step ?? "(unknown)"}`,
      next: `continue: olmv1 migrate convert ${subscription.name} -n ${subscription.namespace} --yes; or roll back: olmv1 migrate rollback ${found.name}`,
    };
  },
  NameTaken: (_, { extensions, extensionName }) =>
    extensions.some(({ name }) => name === extensionName)
      ? {
          text: `ClusterExtension "${extensionName}" already exists and is not related to this Subscription`,
          next: "choose another name for the extension with --name",
        }
      : undefined,
  PackageInstalled: (subscription, { extensions }) => {
    const found = extensions.find(({ packageName }) => packageName === subscription.packageName);
    return found
      ? {
          text: `ClusterExtension "${found.name}" already installs package "${found.packageName}"`,
          next: `a package can be installed only once in a cluster: delete the ClusterExtension, or the Subscription and its ClusterServiceVersion`,
        }
      : undefined;
  },
  PackageSubscribedTwice: (subscription, { subscriptions }) => {
    const others = subscriptions.filter(
      (other) =>
        other.packageName === subscription.packageName &&
        getSubscriptionKey(other) !== getSubscriptionKey(subscription) &&
        other.installedCsv !== undefined,
    );
    return others.length > 0
      ? {
          text: `other Subscriptions also install package "${subscription.packageName}": ${others.map(getSubscriptionKey).join(", ")}`,
          next: "an extension applies to the whole cluster: remove all but one of these Subscriptions with their ClusterServiceVersions",
        }
      : undefined;
  },
  DefinitionShared: (subscription, { csv, csvs }) => {
    if (!csv) return undefined;
    const others = csvs.filter(
      (other) =>
        (other.name !== csv.name || other.namespace !== csv.namespace) &&
        !isSuccession(other, csv) &&
        other.definitions.some((definition) => csv.definitions.includes(definition)),
    );
    return others.length > 0
      ? {
          text: `other ClusterServiceVersions also own its CustomResourceDefinitions: ${others.map(({ namespace, name }) => `${namespace}/${name}`).join(", ")}`,
          next: `only one can own a definition: remove the others, then convert ${subscription.name}`,
        }
      : undefined;
  },
} as const satisfies Record<string, EligibilityCheck>;

export type Conflict = keyof typeof CONFLICTS;

/** During an upgrade both versions of an operator exist. */
function isSuccession(a: InstalledCsv, b: InstalledCsv): boolean {
  return a.namespace === b.namespace && (a.replaces === b.name || b.replaces === a.name);
}

/** Remarks that do not prevent a conversion. */
export const REMARKS = {
  WatchScopeKept: (_, { groups }) => {
    const targets = groups.length === 1 ? (groups[0]?.targets ?? []) : [];
    return targets.length === 0
      ? undefined
      : {
          text: `the operator only watches ${targets.join(", ")}, and the configuration of the extension keeps this`,
          next: "to watch all namespaces, remove watchNamespace from spec.config.inline",
        };
  },
  ConfigKept: ({ config }) =>
    Object.keys(config).length === 0
      ? undefined
      : {
          text: `spec.config of the Subscription becomes spec.config.inline.deploymentConfig${config["selector"] === undefined ? "" : "; its selector, which OLM v0 ignores, is omitted"}`,
          next: "change it in the extension from now on",
        },
  ScopedServiceAccount: (_, { groups }) => {
    const [name] = groups.flatMap(({ serviceAccount }) => serviceAccount ?? []);
    return name === undefined
      ? undefined
      : {
          text: `OLM v0 installs as ServiceAccount "${name}" of the OperatorGroup`,
          next: `use it with --service-account ${name}, or create one with exactly the permissions of the bundle with --create-service-account`,
        };
  },
  ReportsConditions: (_, { reportsConditions }) =>
    reportsConditions
      ? {
          text: "the operator reports conditions in its OperatorCondition, which is not read after the conversion",
          next: "consider spec.approval of the extension if upgrades must wait for the operator",
        }
      : undefined,
  UsesClassicApis: (_, { csv }) =>
    csv?.usesClassicApis
      ? {
          text: "the operator may read or write Subscriptions or other objects of OLM v0",
          next: "check its documentation whether it works without them",
        }
      : undefined,
  HasWebhooks: (_, { csv }) =>
    csv && csv.webhooks.length > 0
      ? {
          text: `the certificates of its webhooks are replaced: ${csv.webhooks.join(", ")}`,
          next: "expect its webhooks to reject requests for several seconds during the conversion",
        }
      : undefined,
  ConvertsVersions: (_, { csv }) =>
    csv && csv.converts.length > 0
      ? {
          text: `OLM v0 disables the conversion webhook of its CRDs when the ClusterServiceVersion is deleted, and convert enables it again at once: ${csv.converts.join(", ")}`,
          next: "convert it while no client writes such custom resources in a version other than the stored one",
        }
      : undefined,
  ReportedByClassic: ({ troubles }) =>
    troubles.length === 0
      ? undefined
      : {
          text: `OLM v0 reports problems of the Subscription: ${troubles.join("; ")}`,
          next: "the installed version runs and can be converted; the problems only concern OLM v0",
        },
  UpgradeWaiting: ({ currentCsv, installedCsv }, { planPhase }) =>
    currentCsv === undefined || installedCsv === undefined || currentCsv === installedCsv
      ? undefined
      : {
          text: `an upgrade to "${currentCsv}" ${planPhase === "Failed" ? "has failed" : "waits for approval"}`,
          next: "the installed version is converted; choose the other one afterwards",
        },
} as const satisfies Record<string, EligibilityCheck>;

export type Remark = keyof typeof REMARKS;
