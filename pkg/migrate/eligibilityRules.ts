import { EXTENSION_NAME_MAX } from "../api/constants.ts";
import type { InstalledCsv } from "./clusterServiceVersion.ts";
import { type Surroundings, sameBundles } from "./eligibilityInput.ts";
import { getSubscriptionKey, type Subscription } from "./subscription.ts";

/** Something that holds, and what to do about it. */
export interface EligibilityFinding {
  /** One sentence without its full stop. */
  readonly text: string;
  /** What to do about it. */
  readonly next: string;
}

/** What a check found; undefined where it does not hold. */
type Check = (subscription: Subscription, around: Surroundings) => EligibilityFinding | undefined;

/** What holds, each with its code, in the order of the checks. */
export function heldOf<Code extends string>(
  checks: Readonly<Record<Code, Check>>,
  subscription: Subscription,
  around: Surroundings,
): (EligibilityFinding & { readonly code: Code })[] {
  return (Object.entries(checks) as [Code, Check][]).flatMap(([code, check]) => {
    const held = check(subscription, around);
    return held ? [{ code, ...held }] : [];
  });
}

/** No catalog can carry it on; all that hold are told. */
export const CATALOG_BLOCKS = {
  NoClusterCatalog: ({ packageName, installedCsv, source, sourceNamespace }, { csv, offers, sourceImage }) => {
    if (!csv || offers.bundles.length > 0) return undefined;
    const unread = offers.unread.length > 0 ? ` (not read: ${offers.unread.join("; ")})` : "";
    const from =
      source === undefined
        ? ""
        : ` with the image of CatalogSource "${sourceNamespace ?? "?"}/${source}"${sourceImage === undefined ? "" : `, ${sourceImage}`}`;
    const made = sourceImage === undefined ? "" : `: olmv1 migrate catalogs ${source ?? ""} -n ${sourceNamespace ?? ""} --yes makes one`;
    const next = `add a ClusterCatalog that has it${from}`;
    if (offers.catalogs.length === 0) return { text: `no ClusterCatalog has package "${packageName}"${unread}`, next: `${next}${made}` };
    return {
      text: `package "${packageName}" is in ClusterCatalog ${offers.catalogs.join(", ")}, but bundle "${installedCsv ?? ""}" with version ${csv.version} is not${unread}`,
      next: `${next}, or let OLM classic upgrade to a version that is there`,
    };
  },
  VersionDiffers: (_, { csv, offers }) =>
    !csv || offers.bundles.length === 0 || sameBundles(offers, csv).length > 0
      ? undefined
      : {
          text: `bundle "${csv.name}" has version ${csv.version} on the cluster, and ${offers.bundles.map(({ version, catalog }) => `${version} in ClusterCatalog ${catalog}`).join(", ")}`,
          next: "add a ClusterCatalog with what is installed, or let OLM classic upgrade to a version that is there",
        },
  NotInChannel: ({ channel }, { csv, offers }) => {
    const bundles = csv ? sameBundles(offers, csv) : [];
    return channel === undefined || bundles.length === 0 || bundles.some(({ channels }) => channels.includes(channel))
      ? undefined
      : {
          text: `channel "${channel}" does not hold the installed bundle any more in ClusterCatalog ${bundles.map(({ catalog }) => catalog).join(", ")}`,
          next: `change spec.channel of the Subscription to one that does: ${[...new Set(bundles.flatMap(({ channels }) => channels))].join(", ")}`,
        };
  },
} as const satisfies Record<string, Check>;

export type CatalogBlock = keyof typeof CATALOG_BLOCKS;

/** What the operator is stands against it; all that hold are told. */
export const OPERATOR_BLOCKS = {
  NoAllNamespaces: (_, { csv }) =>
    !csv || csv.supportsAllNamespaces
      ? undefined
      : {
          text: "the operator does not support install mode AllNamespaces",
          next: "install a version that does, or leave it with OLM classic",
        },
  HasDependencies: (_, { csv }) =>
    !csv || csv.dependencies.length === 0
      ? undefined
      : {
          text: `the operator depends on ${csv.dependencies.join(", ")}`,
          next: "OLM classic keeps what it depends on: install that as ClusterExtensions and this one anew, or leave it with OLM classic",
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
          next: "OLM classic would install it anew for them: convert or remove them first",
        }
      : undefined;
  },
  HasApiServices: (_, { csv }) =>
    !csv || csv.apiServices.length === 0
      ? undefined
      : {
          text: `the operator serves APIs itself: APIService ${csv.apiServices.join(", ")}`,
          next: "OLM classic deletes them with the ClusterServiceVersion and the APIs would be gone for a while: reinstall it as a ClusterExtension",
        },
  DeletesOperands: (_, { csv }) =>
    csv?.deletesOperands
      ? {
          text: "its ClusterServiceVersion deletes custom resources when it goes (spec.cleanup.enabled)",
          next: `switch that off: kubectl patch csv ${csv.name} -n ${csv.namespace} --type merge -p '{"spec":{"cleanup":{"enabled":false}}}'`,
        }
      : undefined,
} as const satisfies Record<string, Check>;

export type OperatorBlock = keyof typeof OPERATOR_BLOCKS;

const SETTLED: ReadonlySet<string> = new Set(["AtLatestKnown", "UpgradePending"]);
/** Phases of an InstallPlan in which nothing is being done. */
const IDLE_PLANS: ReadonlySet<string> = new Set(["RequiresApproval", "Failed"]);
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const WAIT =
  "wait until the operator is installed and healthy: kubectl get csv,subscription,installplan in its namespace tells why it is not";

/** The Subscription stands against it, or what OLM classic makes of it; all that hold are told. */
export const SUBSCRIPTION_BLOCKS = {
  GeneratedAsDependency: ({ generatedBy }) =>
    generatedBy === undefined
      ? undefined
      : {
          text: `OLM made this Subscription for another operator that depends on the package (annotation olm.generated-by: ${generatedBy})`,
          next: "convert is for operators that somebody subscribed to: remove the operator that depends on it first, or subscribe to the package yourself",
        },
  NotInstalled: ({ installedCsv, state, namespace }, { csv }) => {
    if (installedCsv === undefined)
      return {
        text: `nothing is installed by it (state ${state ?? "unknown"})`,
        next: "wait for the installation or approve its InstallPlan; a Subscription that never installed anything can simply be deleted",
      };
    return csv
      ? undefined
      : {
          text: `ClusterServiceVersion "${installedCsv}", which it says is installed, does not exist in namespace "${namespace}"`,
          next: "let OLM repair the Subscription, or delete it",
        };
  },
  NotSettled: (subscription, around) => {
    const text = unsettled(subscription, around);
    return text === undefined ? undefined : { text, next: WAIT };
  },
  OperatorGroupUnclear: ({ namespace }, { csv, groups }) => {
    const [group, ...others] = groups;
    if (!csv) return undefined;
    if (!group || others.length > 0)
      return {
        text: `namespace "${namespace}" has ${group ? `${groups.length} OperatorGroups` : "no OperatorGroup"}, so that it is not known which namespaces the operator watches`,
        next: "leave exactly one OperatorGroup there",
      };
    if (!group.isSettled)
      return {
        text: `OperatorGroup "${group.name}" selects namespaces by their labels, and its status names none`,
        next: "let OLM classic bring its status up to date, or name the namespaces in spec.targetNamespaces",
      };
    return csv.targets === undefined || csv.targets.join() === group.targets.join()
      ? undefined
      : {
          text: `the operator was told to watch ${watched(csv.targets)} (annotation olm.targetNamespaces), and OperatorGroup "${group.name}" targets ${watched(group.targets)}`,
          next: "let OLM classic bring the ClusterServiceVersion up to date first",
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
          text: `"${extensionName}" cannot be the name of a ClusterExtension, which has at most ${EXTENSION_NAME_MAX} lower case letters, digits, - and .`,
          next: "give it another one with --name",
        },
} as const satisfies Record<string, Check>;

export type SubscriptionBlock = keyof typeof SUBSCRIPTION_BLOCKS;

/** Why what is installed may change by itself in the next moment; undefined where it does not. */
function unsettled(subscription: Subscription, { csv, csvs, planPhase }: Surroundings): string | undefined {
  const { state, isDeleted, installedCsv, currentCsv } = subscription;
  if (isDeleted) return "the Subscription is being deleted";
  if (!csv) return undefined;
  if (csv.isDeleted) return `ClusterServiceVersion "${csv.name}" is being deleted`;
  if (csv.phase !== "Succeeded") return `ClusterServiceVersion "${csv.name}" is in phase ${csv.phase || "(none)"}, not Succeeded`;
  const newer = csvs.find(({ namespace, replaces }) => namespace === csv.namespace && replaces === csv.name);
  if (newer) return `ClusterServiceVersion "${newer.name}" in phase ${newer.phase || "(none)"} is taking the place of "${csv.name}"`;
  const upgrade = currentCsv !== undefined && currentCsv !== installedCsv ? currentCsv : undefined;
  if (state !== undefined && !SETTLED.has(state))
    return `the Subscription is in state ${state}, not AtLatestKnown or UpgradePending${upgrade === undefined ? "" : `, an upgrade to "${upgrade}" is going on`}`;
  if (upgrade === undefined || isIdle(subscription, planPhase)) return undefined;
  return `an upgrade to "${upgrade}" is going on${planPhase === undefined ? "" : `: its InstallPlan is in phase ${planPhase}`}`;
}

/** Whether an upgrade waits for somebody. The InstallPlan knows it; without one the Subscription's conditions do, or that it needs approval. */
function isIdle({ approval, needsApproval }: Subscription, planPhase: string | undefined): boolean {
  return planPhase === undefined ? needsApproval || approval === "Manual" : IDLE_PLANS.has(planPhase);
}

function watched(targets: readonly string[]): string {
  return targets.length === 0 ? "all namespaces" : targets.join(", ");
}

/** Another one than the Subscription itself is in the way; the first that holds counts. */
export const CONFLICTS = {
  ConversionUnfinished: (subscription, { extensions }) => {
    const found = extensions.find(({ migratedFrom }) => migratedFrom === getSubscriptionKey(subscription));
    if (!found) return undefined;
    return {
      text: `ClusterExtension "${found.name}" was made for it and the Subscription is there still: a conversion stopped after step ${found.step ?? "(unknown)"}`,
      next: `go on with it: olmv1 migrate convert ${subscription.name} -n ${subscription.namespace} --yes; or take it back: olmv1 migrate rollback ${found.name}`,
    };
  },
  NameTaken: (_, { extensions, extensionName }) =>
    extensions.some(({ name }) => name === extensionName)
      ? {
          text: `there is a ClusterExtension "${extensionName}" already, and it has nothing to do with this Subscription`,
          next: "give the extension another name with --name",
        }
      : undefined,
  PackageInstalled: (subscription, { extensions }) => {
    const found = extensions.find(({ packageName }) => packageName === subscription.packageName);
    return found
      ? {
          text: `ClusterExtension "${found.name}" installs package "${found.packageName}" already`,
          next: `a cluster can hold it once only: delete the ClusterExtension, or the Subscription and its ClusterServiceVersion`,
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
          text: `package "${subscription.packageName}" is installed by other Subscriptions, too: ${others.map(getSubscriptionKey).join(", ")}`,
          next: "an extension is for the whole cluster: remove all but one of these Subscriptions with their ClusterServiceVersions",
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
          text: `its CustomResourceDefinitions belong to other ClusterServiceVersions, too: ${others.map(({ namespace, name }) => `${namespace}/${name}`).join(", ")}`,
          next: `only one of them can own a definition: remove the others, and then convert ${subscription.name}`,
        }
      : undefined;
  },
} as const satisfies Record<string, Check>;

export type Conflict = keyof typeof CONFLICTS;

/** During an upgrade both versions of an operator are there. */
function isSuccession(a: InstalledCsv, b: InstalledCsv): boolean {
  return a.namespace === b.namespace && (a.replaces === b.name || b.replaces === a.name);
}

/** What is to be known and stands against nothing. */
export const REMARKS = {
  WatchScopeKept: (_, { groups }) => {
    const targets = groups.length === 1 ? (groups[0]?.targets ?? []) : [];
    return targets.length === 0
      ? undefined
      : {
          text: `the operator watches ${targets.join(", ")} only, and the configuration of the extension keeps it so`,
          next: "remove watchNamespace from spec.config.inline to have it watch all namespaces",
        };
  },
  ConfigKept: ({ config }) =>
    Object.keys(config).length === 0
      ? undefined
      : {
          text: `spec.config of the Subscription becomes spec.config.inline.deploymentConfig${config["selector"] === undefined ? "" : "; its selector, which OLM classic never heeded, is left out"}`,
          next: "change it there from now on",
        },
  ScopedServiceAccount: (_, { groups }) => {
    const [name] = groups.flatMap(({ serviceAccount }) => serviceAccount ?? []);
    return name === undefined
      ? undefined
      : {
          text: `OLM classic installs as ServiceAccount "${name}" of the OperatorGroup`,
          next: `name it with --service-account ${name}, or have one with exactly the rights of the bundle made with --create-service-account`,
        };
  },
  ReportsConditions: (_, { reportsConditions }) =>
    reportsConditions
      ? {
          text: "the operator reports conditions in its OperatorCondition, which nothing reads any more afterwards",
          next: "look at spec.approval of the extension, if upgrades have to wait for the operator",
        }
      : undefined,
  UsesClassicApis: (_, { csv }) =>
    csv?.usesClassicApis
      ? {
          text: "the operator may read or write Subscriptions or other objects of OLM classic",
          next: "ask its documentation whether it runs without them",
        }
      : undefined,
  HasWebhooks: (_, { csv }) =>
    csv && csv.webhooks.length > 0
      ? {
          text: `the certificates of its webhooks are provided anew: ${csv.webhooks.join(", ")}`,
          next: "expect its webhooks to refuse requests for some seconds while it is converted",
        }
      : undefined,
  ConvertsVersions: (_, { csv }) =>
    csv && csv.converts.length > 0
      ? {
          text: `OLM classic switches the conversion of versions off when the ClusterServiceVersion goes, and convert switches it on again at once: ${csv.converts.join(", ")}`,
          next: "convert it when nobody writes such custom resources in a version that is not the stored one",
        }
      : undefined,
  ReportedByClassic: ({ troubles }) =>
    troubles.length === 0
      ? undefined
      : {
          text: `OLM classic reports on the Subscription: ${troubles.join("; ")}`,
          next: "what is installed runs, and can be converted; only OLM classic looks at this",
        },
  UpgradeWaiting: ({ currentCsv, installedCsv }, { planPhase }) =>
    currentCsv === undefined || installedCsv === undefined || currentCsv === installedCsv
      ? undefined
      : {
          text: `an upgrade to "${currentCsv}" ${planPhase === "Failed" ? "has failed" : "waits for approval"}`,
          next: "the installed version is converted; choose the other one afterwards",
        },
} as const satisfies Record<string, Check>;

export type Remark = keyof typeof REMARKS;
