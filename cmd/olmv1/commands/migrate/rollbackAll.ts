import { CLUSTER_EXTENSION } from "../../../../pkg/api/constants.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { parseInstalledCsv } from "../../../../pkg/migrate/clusterServiceVersion.ts";
import { type GroupMember, groupByDependency } from "../../../../pkg/migrate/conversionGroups.ts";
import { type ConversionRemains, deleteRemains, listRemains } from "../../../../pkg/migrate/conversionRemains.ts";
import { listMigrated, type MigratedExtension, type MigratedRef } from "../../../../pkg/migrate/migratedExtensions.ts";
import { type ConversionRollback, listRollbackSteps, rollBackConversions } from "../../../../pkg/migrate/rollback.ts";
import { parseSubscription } from "../../../../pkg/migrate/subscription.ts";
import { withCluster } from "../../cli/cluster.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type BatchLine, runBatch, showBatch } from "./batch.ts";
import type { MigrateRollbackOptions } from "./migrateOptions.ts";

/** Conversions that are rolled back together, dependents first; or the remains of one. */
interface RollbackGroup {
  readonly namespace: string;
  readonly name: string;
  readonly names: readonly string[];
  readonly members: readonly MigratedRef[];
  readonly remains?: ConversionRemains;
}

/**
 * Groups conversions of operators that depend on each other. The groups are in reverse order of the conversions; then the remains of interrupted
 * rollbacks follow.
 */
async function groupConversions(client: Client, namespace: string | undefined, signal: AbortSignal): Promise<RollbackGroup[]> {
  const refs = (await listMigrated(client, namespace, signal)).toReversed();
  const members: RollbackMember[] = [];
  for (const ref of refs) {
    signal.throwIfAborted();
    members.push(await readGroupMember(ref));
  }
  const groups = groupByDependency(members).map((group) => group.map(({ ref }) => ref));
  return [
    ...groups.map((group) => ({ ...group[0]!, names: group.map(({ name }) => name), members: group })),
    ...(await listRemains(client, namespace, signal)).map((remains) => toGroup(remains)),
  ];
}

interface RollbackMember extends GroupMember {
  readonly ref: MigratedRef;
}

/** Reads the dependencies from the backup. A conversion whose backup cannot be read has none; its rollback fails with the same error. */
async function readGroupMember(ref: MigratedRef): Promise<RollbackMember> {
  const { namespace, name } = ref;
  const alone = { packageName: name, csv: { namespace, name, requires: [], provides: [] } };
  try {
    const { subscription, backup } = await ref.read();
    if (!subscription || !backup) return { ref, ...alone };
    return { ref, packageName: parseSubscription(subscription).packageName, csv: parseInstalledCsv(backup.csv) };
  } catch (err) {
    return { ref: { ...ref, read: () => Promise.reject(err) }, ...alone };
  }
}

function toGroup(remains: ConversionRemains): RollbackGroup {
  const { extension: name, objects } = remains;
  const namespace = objects.find(({ metadata }) => metadata.namespace !== undefined)?.metadata.namespace ?? "";
  return { namespace, name, names: [name], members: [], remains };
}

type Line = Omit<BatchLine, "namespace" | "name">;

/** Runs `olmv1 migrate rollback --all`. Operators that depend on each other are rolled back together. */
export async function rollbackAll(terminal: Terminal, options: MigrateRollbackOptions): Promise<void> {
  const { namespace, output, yes = false, keepGoing = false } = options;
  const { signal } = terminal;
  await withCluster(options, (client) =>
    withProgress(terminal, "rolling back to OLM v0", async (progress) => {
      const groups = await groupConversions(client, namespace, signal);
      const batch = await runBatch(groups, { keepGoing: keepGoing || !yes, signal }, (group) =>
        rollBackGroup(group, { client, signal, options, report: (step) => progress.now(step) }),
      );
      const isReady = batch.lines.some(({ kind }) => kind === "ready");
      await showBatch(terminal, output, batch, isReady ? "\nNo changes were made. To roll back: olmv1 migrate rollback --all --yes\n" : "");
    }),
  );
}

interface GroupContext {
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly options: MigrateRollbackOptions;
  readonly report: (step: string) => void;
}

/** Returns a line for each member, in order. */
async function rollBackGroup({ namespace, name, members, remains }: RollbackGroup, context: GroupContext): Promise<readonly Line[]> {
  const { client, signal, options, report } = context;
  const { yes = false, timeout } = options;
  if (remains) {
    if (!yes) return [{ result: "Possible", detail: `deletes ${remains.objects.length} objects that a rollback left`, kind: "ready" }];
    report(`${namespace}/${name}: deleting the objects that a rollback left`);
    await deleteRemains(client, remains, signal);
    return [{ result: "RolledBack", detail: "", kind: "done" }];
  }
  const rollbacks: ConversionRollback[] = [];
  for (const one of members) {
    const migrated = await one.read();
    if (!migrated.subscription) return [describeCleanedUp(migrated)]; // has no dependencies, and is alone
    listRollbackSteps(migrated);
    const done = (step: string): void => report(`${one.namespace}/${one.name}: ${step}`);
    rollbacks.push({ migrated, options: { client, timeoutMs: timeout, signal, report: done, done } });
  }
  if (yes) await rollBackConversions(rollbacks);
  return rollbacks.map(({ migrated }) => {
    if (yes) return { result: "RolledBack", detail: "", kind: "done" };
    return {
      result: "Possible",
      detail: `${CLUSTER_EXTENSION} ${migrated.extension.metadata.name} becomes this Subscription again`,
      kind: "ready",
    };
  });
}

function describeCleanedUp({ extension }: MigratedExtension): Line {
  return { result: "CleanedUp", detail: `${CLUSTER_EXTENSION} ${extension.metadata.name} no longer has a backup`, kind: "left" };
}
