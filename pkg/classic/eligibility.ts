import { EXTENSION_NAME_MAX } from "../api/constants.ts";
import type { InstalledCsv } from "./installedCsv.ts";
import type { OperatorGroup } from "./operatorGroup.ts";
import type { Subscription } from "./subscription.ts";

/** Whether a Subscription can become a ClusterExtension. */
export type MigrationState = "Eligible" | "Ineligible" | "AlreadyMigrated" | "Conflict";

/** Why a Subscription is in its state, or what is to be known before it is converted. Codes are stable: scripts rely on them. */
export interface MigrationReason {
  readonly code: ReasonCode;
  /** One sentence without its full stop. */
  readonly text: string;
  /** What to do about it. */
  readonly next: string;
}

/** A catalog that has the installed bundle. */
export interface BundleOffer {
  readonly catalog: string;
  readonly priority: number;
  readonly version: string;
  readonly image: string;
  /** Channels with the bundle. */
  readonly channels: readonly string[];
  /** What the catalog is read from, as its spec says. */
  readonly catalogImage?: string | undefined;
}

/** What a cluster's catalogs say about the package. */
export interface PackageOffers {
  /** Catalogs that have the package, whatever its versions are. */
  readonly catalogs: readonly string[];
  /** Those with the installed bundle. */
  readonly bundles: readonly BundleOffer[];
  /** Catalogs that could not be read, each with why. */
  readonly unread: readonly string[];
}

/** A ClusterExtension of the cluster. */
export interface KnownExtension {
  readonly name: string;
  readonly packageName: string;
  /** "namespace/name" of the Subscription that it was converted from. */
  readonly migratedFrom?: string | undefined;
  /** The last completed step of its conversion. */
  readonly step?: string | undefined;
}

/** All that counts beside the Subscription itself. */
export interface Surroundings {
  /** The installed one; absent where there is none of that name in the Subscription's namespace. */
  readonly csv?: InstalledCsv | undefined;
  /** Of the Subscription's namespace. */
  readonly groups: readonly OperatorGroup[];
  /** All Subscriptions of the cluster. */
  readonly subscriptions: readonly Subscription[];
  /** All originals of the cluster, no copies. */
  readonly csvs: readonly InstalledCsv[];
  readonly extensions: readonly KnownExtension[];
  readonly offers: PackageOffers;
  /** Whether the operator reports something in its OperatorCondition. */
  readonly reportsConditions?: boolean;
  /** Name that the extension is to have. */
  readonly extensionName: string;
  /** Image of the Subscription's CatalogSource. */
  readonly sourceImage?: string | undefined;
}

/** A Subscription's state, why, and what is to be known beside. */
export interface Verdict {
  readonly state: MigrationState;
  readonly reasons: readonly MigrationReason[];
  readonly remarks: readonly MigrationReason[];
  /** The catalog that the extension will follow; only where it is eligible. */
  readonly offer?: BundleOffer | undefined;
}

type Check = (subscription: Subscription, around: Surroundings) => Omit<MigrationReason, "code"> | undefined;

const SETTLED: ReadonlySet<string> = new Set(["AtLatestKnown", "UpgradePending"]);
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** Another one than the Subscription itself is in the way; the first that holds counts. */
const CONFLICTS = {
  ConversionUnfinished: (subscription, { extensions }) => {
    const found = extensions.find(({ migratedFrom }) => migratedFrom === keyOf(subscription));
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
      (other) => other.packageName === subscription.packageName && keyOf(other) !== keyOf(subscription) && other.installedCsv !== undefined,
    );
    return others.length > 0
      ? {
          text: `package "${subscription.packageName}" is installed by other Subscriptions, too: ${others.map(keyOf).join(", ")}`,
          next: "an extension is for the whole cluster: remove all but one of these Subscriptions with their ClusterServiceVersions",
        }
      : undefined;
  },
  DefinitionShared: (subscription, { csv, csvs }) => {
    if (!csv) return undefined;
    const others = csvs.filter(
      (other) =>
        (other.name !== csv.name || other.namespace !== csv.namespace) &&
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

/** Something about the Subscription or its operator stands against it; all that hold are told. */
const BLOCKS = {
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
  NotSettled: ({ state, installedCsv, currentCsv }, { csv }) => {
    const next =
      "wait until the operator is installed and healthy: kubectl get csv,subscription,installplan in its namespace tells why it is not";
    if (csv && csv.phase !== "Succeeded")
      return { text: `ClusterServiceVersion "${csv.name}" is in phase ${csv.phase || "(none)"}, not Succeeded`, next };
    if (!csv || state === undefined || SETTLED.has(state)) return undefined;
    const to = currentCsv !== undefined && currentCsv !== installedCsv ? `, an upgrade to "${currentCsv}" is going on` : "";
    return { text: `the Subscription is in state ${state}, not AtLatestKnown or UpgradePending${to}`, next };
  },
  NoAllNamespaces: (_, { csv }) =>
    !csv || csv.supportsAllNamespaces
      ? undefined
      : {
          text: "the operator does not support install mode AllNamespaces",
          next: "install a version that does, or leave it with OLM classic",
        },
  OperatorGroupUnclear: ({ namespace }, { csv, groups }) =>
    !csv || groups.length === 1
      ? undefined
      : {
          text: `namespace "${namespace}" has ${groups.length === 0 ? "no OperatorGroup" : `${groups.length} OperatorGroups`}, so that it is not known which namespaces the operator watches`,
          next: "leave exactly one OperatorGroup there",
        },
  HasDependencies: (_, { csv }) =>
    !csv || csv.dependencies.length === 0
      ? undefined
      : {
          text: `the operator depends on ${csv.dependencies.join(", ")}`,
          next: "OLM classic keeps what it depends on: install that as ClusterExtensions and this one anew, or leave it with OLM classic",
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
  NoClusterCatalog: ({ packageName, installedCsv, source, sourceNamespace }, { csv, offers, sourceImage }) => {
    if (!csv || offers.bundles.length > 0) return undefined;
    const unread = offers.unread.length > 0 ? ` (not read: ${offers.unread.join("; ")})` : "";
    const from =
      source === undefined
        ? ""
        : ` with the image of CatalogSource "${sourceNamespace ?? "?"}/${source}"${sourceImage === undefined ? "" : `, ${sourceImage}`}`;
    const next = `add a ClusterCatalog that has it${from}`;
    if (offers.catalogs.length === 0) return { text: `no ClusterCatalog has package "${packageName}"${unread}`, next };
    return {
      text: `package "${packageName}" is in ClusterCatalog ${offers.catalogs.join(", ")}, but bundle "${installedCsv ?? ""}" with version ${csv.version} is not${unread}`,
      next: `${next}, or let OLM classic upgrade to a version that is there`,
    };
  },
  NotInChannel: ({ channel }, { offers }) =>
    channel === undefined || offers.bundles.length === 0 || offers.bundles.some(({ channels }) => channels.includes(channel))
      ? undefined
      : {
          text: `channel "${channel}" does not hold the installed bundle any more in ClusterCatalog ${offers.bundles.map(({ catalog }) => catalog).join(", ")}`,
          next: `change spec.channel of the Subscription to one that does: ${[...new Set(offers.bundles.flatMap(({ channels }) => channels))].join(", ")}`,
        },
  InvalidName: (_, { extensionName }) =>
    extensionName.length <= EXTENSION_NAME_MAX && NAME.test(extensionName)
      ? undefined
      : {
          text: `"${extensionName}" cannot be the name of a ClusterExtension, which has at most ${EXTENSION_NAME_MAX} lower case letters, digits, - and .`,
          next: "give it another one with --name",
        },
} as const satisfies Record<string, Check>;

/** What is to be known and stands against nothing. */
const REMARKS = {
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
  UpgradeWaiting: ({ currentCsv, installedCsv }) =>
    currentCsv === undefined || installedCsv === undefined || currentCsv === installedCsv
      ? undefined
      : {
          text: `an upgrade to "${currentCsv}" waits for approval`,
          next: "the installed version is converted; choose the other one afterwards",
        },
} as const satisfies Record<string, Check>;

export type ReasonCode = keyof typeof CONFLICTS | keyof typeof BLOCKS | keyof typeof REMARKS | "AlreadyMigrated" | "Unreadable";

/** Decides what a Subscription's state is. A conflict comes before everything else. */
export function judge(subscription: Subscription, around: Surroundings): Verdict {
  const remarks = heldOf(REMARKS, subscription, around);
  const [conflict] = heldOf(CONFLICTS, subscription, around);
  if (conflict) return { state: "Conflict", reasons: [conflict], remarks };
  const blocks = heldOf(BLOCKS, subscription, around);
  if (blocks.length > 0) return { state: "Ineligible", reasons: blocks, remarks };
  return { state: "Eligible", reasons: [], remarks, offer: chosenOffer(subscription, around) };
}

/**
 * The verdict on an extension that a Subscription became which is there no more; undefined where it became none, or the Subscription exists.
 */
export function judgeMigrated(extension: KnownExtension, subscriptions: readonly Subscription[]): Verdict | undefined {
  const { migratedFrom, name, step } = extension;
  if (migratedFrom === undefined || subscriptions.some((one) => keyOf(one) === migratedFrom)) return undefined;
  const isDone = step === undefined || step === "Installed";
  const text = isDone
    ? `it is ClusterExtension "${name}" by now`
    : `ClusterExtension "${name}" takes its place, and the conversion stopped after step ${step}`;
  const next = isDone
    ? step === undefined
      ? "nothing is left to do"
      : `remove what is left of OLM classic once you are content: olmv1 migrate cleanup ${name}`
    : `go on with it: olmv1 migrate convert ${name} --yes; or take it back: olmv1 migrate rollback ${name}`;
  return {
    state: isDone ? "AlreadyMigrated" : "Conflict",
    reasons: [{ code: isDone ? "AlreadyMigrated" : "ConversionUnfinished", text, next }],
    remarks: [],
  };
}

/** The verdict on a Subscription that says nothing which could be converted. @param text why. */
export function unreadable(text: string): Verdict {
  const reason = { code: "Unreadable", text, next: "correct its spec, or delete it" } as const;
  return { state: "Ineligible", reasons: [reason], remarks: [] };
}

/** "namespace/name". */
export function keyOf({ namespace, name }: Pick<Subscription, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

/** The catalog with the image of the CatalogSource comes first, then the one called as it, then that of the highest priority, then by name. */
function chosenOffer({ channel, source }: Subscription, { offers, sourceImage }: Surroundings): BundleOffer | undefined {
  const isImage = ({ catalogImage }: BundleOffer): number => Number(sourceImage !== undefined && catalogImage === sourceImage);
  const fitting = offers.bundles.filter(({ channels }) => channel === undefined || channels.includes(channel));
  return fitting.toSorted(
    (a, b) =>
      isImage(b) - isImage(a) ||
      Number(b.catalog === source) - Number(a.catalog === source) ||
      b.priority - a.priority ||
      (a.catalog < b.catalog ? -1 : 1),
  )[0];
}

function heldOf(checks: Readonly<Record<string, Check>>, subscription: Subscription, around: Surroundings): MigrationReason[] {
  return Object.entries(checks).flatMap(([code, check]) => {
    const held = check(subscription, around);
    return held ? [{ code: code as ReasonCode, ...held }] : [];
  });
}
