import { WaitTimeoutError } from "../../../../pkg/async/poll.ts";
import { getErrorMessage } from "../../../../pkg/errors/errors.ts";
import { listMigrated, requireMigrated } from "../../../../pkg/migrate/migratedExtensions.ts";
import { readKeptVersion } from "../../../../pkg/migrate/operatorUpgrade.ts";
import { listRollbackSteps, rollBackConversion } from "../../../../pkg/migrate/rollback.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import { print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type BatchLine, requireOneOrAll, runBatch, showBatch } from "./batch.ts";
import type { MigrateRollbackOptions } from "./migrateOptions.ts";

/** Runs `olmv1 migrate rollback`. */
export async function showRollback(terminal: Terminal, name: string | undefined, options: MigrateRollbackOptions): Promise<void> {
  requireOneOrAll("rollback", name, options.all);
  if (name === undefined) return rollbackAll(terminal, options);
  const { namespace, output, yes, timeout } = options;
  const { signal } = terminal;
  await withCluster(options, async (client) => {
    const migrated = await requireMigrated(client, name, namespace, signal);
    const { isReplaced } = await readKeptVersion(client, migrated, signal);
    const steps = listRollbackSteps(migrated, isReplaced);
    const extension = migrated.extension.metadata.name;
    if (!yes) {
      const text = `ClusterExtension ${extension} becomes Subscription ${migrated.from} again. Steps:\n`;
      const lines = steps.map((step, i) => `  ${i + 1}. ${step}\n`).join("");
      const next = `\nNo changes were made. To roll back: olmv1 migrate rollback ${extension} --yes\n`;
      return print(terminal, output, {
        data: { clusterExtension: extension, subscription: migrated.from, steps },
        text: () => text + lines + next,
      });
    }
    const done: string[] = [];
    try {
      await withProgress(terminal, "rolling back to OLM v0", (progress) =>
        rollBackConversion(migrated, {
          client,
          timeoutMs: timeout,
          signal,
          report: (step) => progress.now(step),
          done: (step) => {
            done.push(step);
            if (output === "text") terminal.out(`${step}\n`);
          },
        }),
      );
    } catch (err) {
      if (!(err instanceof WaitTimeoutError)) throw err;
      terminal.err(`olmv1: ${getErrorMessage(err)}; run the command again to continue\n`);
      return terminal.exit(EXIT.no);
    }
    return print(terminal, output, {
      data: { clusterExtension: extension, subscription: migrated.from, done },
      text: () => `\nOLM v0 manages Subscription ${migrated.from} again\n`,
    });
  });
}

/** Runs `olmv1 migrate rollback --all`, in reverse order of the conversions. */
async function rollbackAll(terminal: Terminal, options: MigrateRollbackOptions): Promise<void> {
  const { namespace, output, yes = false, keepGoing = false, timeout } = options;
  const { signal } = terminal;
  await withCluster(options, (client) =>
    withProgress(terminal, "rolling back to OLM v0", async (progress) => {
      const found = (await listMigrated(client, namespace, signal)).toReversed();
      const batch = await runBatch(
        found,
        { keepGoing: keepGoing || !yes, signal },
        async (one): Promise<Omit<BatchLine, "namespace" | "name">> => {
          const migrated = await one.read();
          const { name } = migrated.extension.metadata;
          if (!migrated.subscription)
            return { result: "CleanedUp", detail: `ClusterExtension ${name} no longer has a backup`, kind: "left" };
          listRollbackSteps(migrated);
          if (!yes) return { result: "Possible", detail: `ClusterExtension ${name} becomes this Subscription again`, kind: "ready" };
          const report = (step: string): void => progress.now(`${one.namespace}/${one.name}: ${step}`);
          await rollBackConversion(migrated, { client, timeoutMs: timeout, signal, report, done: report });
          return { result: "RolledBack", detail: "", kind: "done" };
        },
      );
      const isReady = batch.lines.some(({ kind }) => kind === "ready");
      await showBatch(terminal, output, batch, isReady ? "\nNo changes were made. To roll back: olmv1 migrate rollback --all --yes\n" : "");
    }),
  );
}
