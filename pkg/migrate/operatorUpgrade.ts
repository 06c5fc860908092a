import { CLUSTER_EXTENSION } from "../api/constants.ts";
import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import { MIGRATION_FINALIZER } from "../api/migration.ts";
import { getNonEmptyText, getObjectAt } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { describeObject } from "../release/identity.ts";
import { isCopiedCsv } from "./clusterServiceVersion.ts";
import { hasCompleted, type MigratedExtension } from "./migratedExtensions.ts";
import { CSV, listOrNone, readOrNone } from "./olmV0Cluster.ts";
import type { ConversionSource } from "./planConversion.ts";
import { isOrphan } from "./subscription.ts";

/** The objects of OLM v0 that say which version of an operator it runs. */
interface LiveOperator {
  /** Undefined if it does not exist. */
  readonly subscription: KubeObject | undefined;
  /** The ClusterServiceVersion of the conversion; undefined if it does not exist. */
  readonly csv: KubeObject | undefined;
  /** The other ClusterServiceVersions in the namespace. */
  readonly others: readonly KubeObject[];
}

/** OLM v0 no longer runs the version that the conversion backed up, so the conversion cannot continue. */
export class OperatorUpgradedError extends Error {
  constructor({ extension, subscription }: Pick<ConversionSource, "extension" | "subscription">, reason: string) {
    const { name } = extension.metadata;
    const { name: from, namespace = "" } = subscription.metadata;
    super(
      `the conversion to ${CLUSTER_EXTENSION} "${name}" cannot continue, because OLM v0 has upgraded or removed the operator since the conversion began: ${reason}. ` +
        `First keep the version that OLM v0 runs: olmv1 migrate rollback ${name} --yes; then convert this version: olmv1 migrate convert ${from} -n ${namespace}`,
    );
  }
}

/** Returns how OLM v0 has upgraded an operator; undefined if it has not. @param name the ClusterServiceVersion of the conversion */
function findUpgrade(name: string, { subscription, others }: Pick<LiveOperator, "subscription" | "others">): string | undefined {
  const installed = getNonEmptyText(getObjectAt(subscription, "status"), "installedCSV");
  if (subscription && installed !== undefined && installed !== name)
    return `${describeObject(subscription)} has installed "${installed}" in place of "${name}"`;
  const successor = others.find((one) => getNonEmptyText(getObjectAt(one, "spec"), "replaces") === name);
  return successor && `${describeObject(successor)} replaces "${name}"`;
}

/**
 * Checks that OLM v0 still runs the version that a conversion backed up. Between two runs of an interrupted conversion, OLM v0 may upgrade the operator:
 * the conversion would then adopt the objects of the new version, downgrade them, and leave the new ClusterServiceVersion to OLM v0.
 * @param source.csv may be a backup
 * @param isTerminated whether the conversion has deleted the ClusterServiceVersion
 * @throws OperatorUpgradedError with the difference
 */
export async function requireSameVersion(
  client: Pick<Client, "get" | "list">,
  source: Pick<ConversionSource, "extension" | "subscription" | "csv">,
  { isTerminated, signal }: { isTerminated: boolean; signal: AbortSignal },
): Promise<void> {
  const live = await readLiveOperator(client, source, signal);
  const upgrade = findUpgrade(source.csv.metadata.name, live);
  if (upgrade !== undefined) throw new OperatorUpgradedError(source, upgrade);
  if (!live.csv && !isTerminated) throw new OperatorUpgradedError(source, `${describeObject(source.csv)} does not exist`);
  if (live.subscription && getNonEmptyText(getObjectAt(live.subscription, "status"), "installedCSV") === undefined)
    throw new OperatorUpgradedError(source, `${describeObject(live.subscription)} reports no installed version`);
}

/** Whether OLM v0 kept the version that a conversion backed up. */
export interface KeptVersion {
  /** Whether OLM v0 has upgraded or removed the operator. A rollback must then not restore the objects of the earlier version. */
  readonly isReplaced: boolean;
  /** Whether the conversion may have deleted the ClusterServiceVersion. */
  readonly isTerminated: boolean;
}

/** Decides whether a rollback restores the backed-up version. @param hasTerminated whether the conversion has recorded step Terminating */
export function decideKeptVersion(name: string, live: LiveOperator, hasTerminated: boolean): KeptVersion {
  const isTerminated = hasTerminated || live.csv?.metadata.finalizers?.includes(MIGRATION_FINALIZER) === true;
  return { isReplaced: findUpgrade(name, live) !== undefined || (!live.csv && !isTerminated), isTerminated };
}

/** Reads the objects of OLM v0, and decides like `decideKeptVersion`. */
export async function readKeptVersion(
  client: Pick<Client, "get" | "list">,
  migrated: Pick<MigratedExtension, "step" | "subscription" | "backup">,
  signal: AbortSignal,
): Promise<KeptVersion> {
  const { subscription, backup } = migrated;
  const hasTerminated = hasCompleted(migrated, "Terminating");
  if (!subscription || !backup) return { isReplaced: false, isTerminated: hasTerminated };
  const live = await readLiveOperator(client, { subscription, csv: backup.csv }, signal);
  return decideKeptVersion(backup.csv.metadata.name, live, hasTerminated);
}

async function readLiveOperator(
  client: Pick<Client, "get" | "list">,
  { subscription, csv }: Pick<ConversionSource, "subscription" | "csv">,
  signal: AbortSignal,
): Promise<LiveOperator> {
  const { name, namespace = "" } = csv.metadata;
  const csvs = ((await listOrNone(client, CSV, { namespace, signal })) ?? []).filter((one) => !isCopiedCsv(one));
  return {
    subscription: isOrphan(subscription) ? undefined : await readOrNone(client, toObjectRef(subscription)),
    csv: csvs.find((one) => one.metadata.name === name),
    others: csvs.filter((one) => one.metadata.name !== name),
  };
}
