import { getNamespace } from "../../../../pkg/api/clusterExtension.ts";
import { getBackupRef } from "../../../../pkg/migrate/backup.ts";
import { type CleanupRequest, cleanUp, findLeftovers } from "../../../../pkg/migrate/cleanup.ts";
import { listMigrated, type MigratedRef, requireMigrated } from "../../../../pkg/migrate/migratedExtensions.ts";
import { describeObject } from "../../../../pkg/release/identity.ts";
import { withCluster } from "../../cli/cluster.ts";
import { print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type BatchLine, requireOneOrAll, runBatch, showBatch } from "./batch.ts";
import type { CleanupOptions } from "./migrateOptions.ts";

/** Runs `olmv1 migrate cleanup`. */
export async function showCleanup(terminal: Terminal, name: string | undefined, options: CleanupOptions): Promise<void> {
  requireOneOrAll("cleanup", name, options.all);
  if (name === undefined) return cleanupAll(terminal, options);
  const { namespace, output, yes = false, operatorGroup = false } = options;
  const { signal } = terminal;
  await withCluster(options, async (client) => {
    const migrated = await requireMigrated(client, name, namespace, signal);
    const { metadata } = migrated.extension;
    const request = { client, operatorGroup, signal };
    const found = await withProgress(terminal, "searching for leftovers of OLM v0", () => findLeftovers(migrated, request));
    const isLeft = migrated.subscription !== undefined || found.length > 0;
    if (yes && isLeft) await withProgress(terminal, "deleting leftovers of OLM v0", () => cleanUp(migrated, found, request));
    const deleted = [
      ...found.map(({ ref }) => ref),
      ...(migrated.backup ? [getBackupRef(metadata.name, getNamespace(migrated.extension))] : []),
    ];
    const lines = deleted.map((ref) => `  ${describeObject(ref)}\n`).join("");
    const [title, next] = yes
      ? ["deleted", `\nSubscription ${migrated.from} can no longer be restored\n`]
      : [
          "to be deleted",
          `\nNo changes were made. To delete the leftovers, after which you cannot roll back: olmv1 migrate cleanup ${metadata.name} --yes\n`,
        ];
    await print(terminal, output, {
      data: { clusterExtension: metadata.name, subscription: migrated.from, removed: yes, objects: deleted },
      text: () => (isLeft ? `${title} of Subscription ${migrated.from}:\n${lines}${next}` : "no leftovers of OLM v0\n"),
    });
  });
}

/** Runs `olmv1 migrate cleanup --all`, sorted by namespace and name of the Subscriptions. */
async function cleanupAll(terminal: Terminal, options: CleanupOptions): Promise<void> {
  const { namespace, output, yes = false, keepGoing = false, operatorGroup = false } = options;
  const { signal } = terminal;
  await withCluster(options, (client) =>
    withProgress(terminal, "searching for leftovers of OLM v0", async (progress) => {
      const found = await listMigrated(client, namespace, signal);
      const batch = await runBatch(found, { keepGoing: keepGoing || !yes, signal }, (one) => {
        progress.now(`${yes ? "deleting" : "searching for"} leftovers of ${one.namespace}/${one.name}`);
        return cleanUpOne(one, { client, operatorGroup, signal }, yes);
      });
      const isReady = batch.lines.some(({ kind }) => kind === "ready");
      const next = "\nNo changes were made. To delete the leftovers, after which you cannot roll back: olmv1 migrate cleanup --all --yes\n";
      await showBatch(terminal, output, batch, isReady ? next : "");
    }),
  );
}

async function cleanUpOne(one: MigratedRef, request: CleanupRequest, yes: boolean): Promise<Omit<BatchLine, "namespace" | "name">> {
  const migrated = await one.read();
  const found = await findLeftovers(migrated, request);
  if (migrated.subscription === undefined && found.length === 0)
    return { result: "NothingLeft", detail: "already cleaned up", kind: "passed" };
  const { name } = migrated.extension.metadata;
  const detail = `${found.length} objects and the backups of ClusterExtension ${name}`;
  if (!yes) return { result: "LeftOver", detail, kind: "ready" };
  await cleanUp(migrated, found, request);
  return { result: "CleanedUp", detail, kind: "done" };
}
