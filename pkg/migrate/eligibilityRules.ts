import { formatCatalogCommands } from "./bundleImages.ts";
import { type InstalledCsv } from "./clusterServiceVersion.ts";
import { listProvided } from "./conversionGroups.ts";
import { type EligibilityCheck, type EligibilityFinding, type EligibilityInput, findSameBundles } from "./eligibilityInput.ts";
import { getNamespacedName, type Subscription } from "./subscription.ts";

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

/** Checks whether a catalog can provide updates. All findings are reported. */
export const CATALOG_BLOCKS = {
  NoClusterCatalog: (subscription, { csv, offers, sourceImage, isSourceMissing = false, bundleImage }) => {
    if (!csv || offers.bundles.length > 0) return undefined;
    const { packageName, installedCsv, source, sourceNamespace, channel } = subscription;
    const unread = offers.unread.length > 0 ? ` (not read: ${offers.unread.join("; ")})` : "";
    const installed = bundleImage === undefined ? "" : `. OLM v0 installed the bundle from image ${bundleImage}`;
    const from =
      source === undefined || isSourceMissing
        ? ""
        : `, for example with the image of CatalogSource "${sourceNamespace ?? "?"}/${source}"${sourceImage === undefined ? "" : `, ${sourceImage}`}`;
    const made =
      sourceImage === undefined
        ? ""
        : `: olmv1 migrate catalogs ${source ?? ""} -n ${sourceNamespace ?? ""} --yes creates this ClusterCatalog`;
    const own = bundleImage === undefined ? "" : `, or create one from the image: ${formatCatalogCommands(bundleImage, channel)}`;
    const next = `add a ClusterCatalog that contains the bundle${from}`;
    if (offers.catalogs.length === 0)
      return { text: `no ClusterCatalog contains package "${packageName}"${unread}${installed}`, next: `${next}${made}${own}` };
    return {
      text: `ClusterCatalog ${offers.catalogs.join(", ")} contains package "${packageName}", but not bundle "${installedCsv ?? ""}" with version ${csv.version}${unread}${installed}`,
      next: `${next}, or let OLM v0 upgrade to an available version${own}`,
    };
  },
  VersionDiffers: (_, { csv, offers }) =>
    !csv || offers.bundles.length === 0 || findSameBundles(offers, csv).length > 0
      ? undefined
      : {
          text: `bundle "${csv.name}" has version ${csv.version} on the cluster, but ${offers.bundles.map(({ version, catalog }) => `${version} in ClusterCatalog ${catalog}`).join(", ")}`,
          next: "add a ClusterCatalog with the installed version, or let OLM v0 upgrade to an available version",
        },
  NotInChannel: ({ channel }, { csv, offers }) => {
    const bundles = csv ? findSameBundles(offers, csv) : [];
    return channel === undefined || bundles.length === 0 || bundles.some(({ channels }) => channels.includes(channel))
      ? undefined
      : {
          text: `channel "${channel}" in ClusterCatalog ${bundles.map(({ catalog }) => catalog).join(", ")} does not contain the installed bundle`,
          next: `change spec.channel of the Subscription to a channel that contains the bundle: ${[...new Set(bundles.flatMap(({ channels }) => channels))].join(", ")}`,
        };
  },
} as const satisfies Record<string, EligibilityCheck>;

export type CatalogBlock = keyof typeof CATALOG_BLOCKS;

/** Checks whether the operator can be converted. All findings are reported. */
export const OPERATOR_BLOCKS = {
  RequiredByOthers: ({ packageName }, { csv, csvs, together }) => {
    if (!csv) return undefined;
    const provided = new Set(listProvided({ packageName, csv }));
    const others = csvs.filter(
      (other) =>
        other.namespace === csv.namespace &&
        other.name !== csv.name &&
        !other.isDeleted && // OLM v0 ignores it, as during a conversion
        !together?.has(getNamespacedName(other)) &&
        other.requires.some((key) => provided.has(key)),
    );
    return others.length > 0
      ? {
          text: `operators that OLM v0 still runs in the namespace depend on this operator: ${others.map(({ name }) => name).join(", ")}`,
          next: "convert them together: olmv1 migrate convert --all, or convert with all their names. OLM v0 would reinstall the dependency for them",
        }
      : undefined;
  },
  DeletesOperands: (_, { csv }) =>
    csv?.deletesOperands
      ? {
          text: "deleting the ClusterServiceVersion would also delete custom resources (spec.cleanup.enabled)",
          next: `disable the cleanup: kubectl patch csv ${csv.name} -n ${csv.namespace} --type merge -p '{"spec":{"cleanup":{"enabled":false}}}'`,
        }
      : undefined,
} as const satisfies Record<string, EligibilityCheck>;

export type OperatorBlock = keyof typeof OPERATOR_BLOCKS;

/** Checks whether other objects prevent the conversion. Only the first finding is reported. */
export const CONFLICTS = {
  BegunByOtherTool: (subscription, { extensions, begunElsewhere }) => {
    const key = getNamespacedName(subscription);
    const found = extensions.find(({ migratedFrom, isForeign }) => isForeign && migratedFrom === key);
    return found || begunElsewhere?.has(key)
      ? {
          text: `another tool, such as OpenShift's console, has begun to convert the Subscription${found ? ` to ClusterExtension "${found.name}"` : ""}`,
          next: "complete the conversion or roll it back with that tool",
        }
      : undefined;
  },
  ConversionUnfinished: (subscription, { extensions }) => {
    const found = extensions.find(({ migratedFrom }) => migratedFrom === getNamespacedName(subscription));
    if (!found) return undefined;
    return {
      text: `the conversion to ClusterExtension "${found.name}" stopped after step ${found.step ?? "(unknown)"}, and the Subscription still exists`,
      next: `continue: olmv1 migrate convert ${subscription.name} -n ${subscription.namespace} --yes; or roll back: olmv1 migrate rollback ${found.name}`,
    };
  },
  NameTaken: (_, { extensions, extensionName }) =>
    extensions.some(({ name }) => name === extensionName)
      ? {
          text: `ClusterExtension "${extensionName}" already exists and is not related to this Subscription`,
          next: "choose another name with --name",
        }
      : undefined,
  PackageInstalled: (subscription, { extensions }) => {
    const found = extensions.find(({ packageName }) => packageName === subscription.packageName);
    return found
      ? {
          text: `ClusterExtension "${found.name}" already installs package "${found.packageName}"`,
          next: `delete the ClusterExtension, or the Subscription and its ClusterServiceVersion: a package can be installed only once in a cluster`,
        }
      : undefined;
  },
  PackageSubscribedTwice: (subscription, { subscriptions }) => {
    const others = subscriptions.filter(
      (other) =>
        other.packageName === subscription.packageName &&
        getNamespacedName(other) !== getNamespacedName(subscription) &&
        other.installedCsv !== undefined,
    );
    return others.length > 0
      ? {
          text: `other Subscriptions also install package "${subscription.packageName}": ${others.map(getNamespacedName).join(", ")}`,
          next: "remove all but one of these Subscriptions and their ClusterServiceVersions: a package can be installed only once in a cluster",
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
          text: `other ClusterServiceVersions own the same CustomResourceDefinitions: ${others.map(({ namespace, name }) => `${namespace}/${name}`).join(", ")}`,
          next: `remove the other ClusterServiceVersions, then convert ${subscription.name}: only one ClusterServiceVersion can own a CustomResourceDefinition`,
        }
      : undefined;
  },
} as const satisfies Record<string, EligibilityCheck>;

export type Conflict = keyof typeof CONFLICTS;

/** Reports whether one ClusterServiceVersion replaces the other. Both exist during an upgrade. */
function isSuccession(a: InstalledCsv, b: InstalledCsv): boolean {
  return a.namespace === b.namespace && (a.replaces === b.name || b.replaces === a.name);
}

/** Reports whether the operator has a dependency that no operator of the same conversion provides. */
export function needsOlmV0({ csv, csvs, subscriptions, together }: EligibilityInput): boolean {
  if (!csv || csv.dependencies.length === 0) return false;
  const provided = new Set(
    csvs
      .filter((other) => other.namespace === csv.namespace && together?.has(getNamespacedName(other)))
      .flatMap((other) => {
        const isOf = (one: Subscription): boolean => one.namespace === other.namespace && one.installedCsv === other.name;
        return listProvided({ packageName: subscriptions.find(isOf)?.packageName ?? "", csv: other });
      }),
  );
  return csv.requires.length === 0 || csv.requires.some((key) => !provided.has(key));
}

/** Remarks that do not prevent a conversion. */
export const REMARKS = {
  WithoutSubscription: ({ isOrphan, installedCsv }) =>
    isOrphan
      ? {
          text: `ClusterServiceVersion "${installedCsv ?? ""}" has no Subscription. Its package is known from its properties`,
          next: "to follow a channel after the conversion, set spec.source.catalog.channels of the ClusterExtension",
        }
      : undefined,
  GeneratedAsDependency: ({ generatedBy }) =>
    generatedBy === undefined
      ? undefined
      : {
          text: `OLM v0 created this Subscription as a dependency of another operator (annotation olm.generated-by: ${generatedBy})`,
          next: "delete the ClusterExtension yourself when no operator needs it any more",
        },
  HasDependencies: (_, around) =>
    !around.csv || !needsOlmV0(around)
      ? undefined
      : {
          text: `the operator depends on ${around.csv.dependencies.join(", ")}`,
          next: "convert the dependencies afterwards, then remove spec.dependencies of the ClusterExtension: until then it does not check dependencies that OLM v0 provides",
        },
  WatchScopeKept: (_, { groups }) => {
    const targets = groups.length === 1 ? (groups[0]?.targets ?? []) : [];
    return targets.length === 0
      ? undefined
      : {
          text: `the ClusterExtension keeps the watched namespaces of the operator: ${targets.join(", ")}`,
          next: "to watch all namespaces, remove watchNamespace from spec.config.inline",
        };
  },
  ConfigKept: ({ config }) =>
    Object.keys(config).length === 0
      ? undefined
      : {
          text: `spec.config of the Subscription becomes spec.config.inline.deploymentConfig${config["selector"] === undefined ? "" : " without selector, which OLM v0 ignores"}`,
          next: "change the configuration in the ClusterExtension from now on",
        },
  ScopedServiceAccount: (_, { groups }) => {
    const [name] = groups.flatMap(({ serviceAccount }) => serviceAccount ?? []);
    return name === undefined
      ? undefined
      : {
          text: `OLM v0 installs the operator as ServiceAccount "${name}" of the OperatorGroup`,
          next: `use this ServiceAccount with --service-account ${name}, or create a ServiceAccount with exactly the permissions that the bundle needs with --create-service-account`,
        };
  },
  ReportsConditions: (_, { reportsConditions }) =>
    reportsConditions
      ? {
          text: "the operator reports conditions in an OperatorCondition, which operator-controller reads; the first upgrade replaces it",
          next: "to upgrade although the operator does not allow it, set spec.overrides of its OperatorCondition",
        }
      : undefined,
  UsesClassicApis: (_, { csv }) =>
    csv?.usesClassicApis
      ? {
          text: "the operator may read or write Subscriptions or other OLM v0 objects",
          next: "check in the operator documentation whether the operator works without OLM v0 objects",
        }
      : undefined,
  HasWebhooks: (_, { csv }) =>
    csv && csv.webhooks.length > 0
      ? {
          text: `the extension keeps the certificates of the webhooks, unless cert-manager or OpenShift issues new ones: ${csv.webhooks.join(", ")}`,
          next: "with cert-manager or OpenShift, expect the webhooks to reject requests until the Pods have loaded the new certificates",
        }
      : undefined,
  ConvertsVersions: (_, { csv }) =>
    csv && csv.converts.length > 0
      ? {
          text: `OLM v0 disables the conversion webhook of these CRDs when the ClusterServiceVersion is deleted, and olmv1 migrate convert immediately enables it again: ${csv.converts.join(", ")}`,
          next: "run the conversion while no client writes custom resources of these CRDs in a version other than the storage version",
        }
      : undefined,
  ReportedByClassic: ({ troubles }) =>
    troubles.length === 0
      ? undefined
      : {
          text: `OLM v0 reports problems with the Subscription: ${troubles.join("; ")}`,
          next: "no action needed: the problems only affect OLM v0. The installed version runs and can be converted",
        },
  SourceMissing: ({ source, sourceNamespace }, { isSourceMissing = false }) =>
    isSourceMissing
      ? {
          text: `CatalogSource "${sourceNamespace ?? "?"}/${source ?? "?"}" of the Subscription does not exist, so OLM v0 cannot upgrade the operator`,
          next: "no action needed if a ClusterCatalog contains the bundle: the extension gets upgrades from this ClusterCatalog",
        }
      : undefined,
  UpgradeWaiting: ({ currentCsv, installedCsv }, { planPhase }) =>
    currentCsv === undefined || installedCsv === undefined || currentCsv === installedCsv
      ? undefined
      : {
          text: `an upgrade to "${currentCsv}" ${planPhase === "Failed" ? "has failed" : "waits for approval"}`,
          next: "upgrade after the conversion, which keeps the installed version",
        },
} as const satisfies Record<string, EligibilityCheck>;

export type Remark = keyof typeof REMARKS;
