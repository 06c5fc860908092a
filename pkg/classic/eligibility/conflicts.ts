import type { InstalledCsv } from "../installedCsv.ts";
import { keyOf } from "../subscription.ts";
import type { Check } from "./check.ts";

/** Another one than the Subscription itself is in the way; the first that holds counts. */
export const CONFLICTS = {
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
