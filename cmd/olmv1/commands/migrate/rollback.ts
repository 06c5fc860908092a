import { messageOf } from "../../../../pkg/errors/errors.ts";
import { listMigrated, requireMigrated } from "../../../../pkg/migrate/migratedExtensions.ts";
import { WaitTimeoutError } from "../../../../pkg/migrate/poll.ts";
import { listRollbackSteps, rollBackConversion } from "../../../../pkg/migrate/rollback.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import { print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type BatchLine, oneByOne, requireOneOrAll, showBatch } from "./batch.ts";
import type { MigrateRollbackOptions } from "./migrateOptions.ts";

/** `olmv1 migrate rollback`. */
export async function showRollback(terminal: Terminal, name: string | undefined, options: MigrateRollbackOptions): Promise<void> {
  requireOneOrAll("rollback", name, options.all);
  if (name === undefined) return rollbackAll(terminal, options);
  const { namespace, output, yes, timeout } = options;
  const { signal } = terminal;
  await withCluster(options, async (client) => {
    const migrated = await requireMigrated(client, name, namespace, signal);
    const steps = listRollbackSteps(migrated);
    const extension = migrated.extension.metadata.name;
    if (!yes) {
      const text = `ClusterExtension ${extension} goes back to Subscription ${migrated.from}; what runs is not touched. In this order:\n`;
      const lines = steps.map((step, i) => `  ${i + 1}. ${step}\n`).join("");
      const next = `\nNothing was written. To do it: olmv1 migrate rollback ${extension} --yes\n`;
      return print(terminal, output, {
        data: { clusterExtension: extension, subscription: migrated.from, steps },
        text: () => text + lines + next,
      });
    }
    const done: string[] = [];
    try {
      await withProgress(terminal, "going back to OLM v0", (progress) =>
        rollBackConversion(migrated, {
          client,
          timeoutMs: timeout,
          signal,
          tell: (what) => progress.now(what),
          done: (what) => {
            done.push(what);
            if (output === "text") terminal.out(`${what}\n`);
          },
        }),
      );
    } catch (err) {
      if (!(err instanceof WaitTimeoutError)) throw err;
      terminal.err(`olmv1: ${messageOf(err)}; go on: run rollback again\n`);
      return terminal.exit(EXIT.no);
    }
    return print(terminal, output, {
      data: { clusterExtension: extension, subscription: migrated.from, done },
      text: () => `\nSubscription ${migrated.from} is OLM v0's again\n`,
    });
  });
}

/** `olmv1 migrate rollback --all`: in the opposite order of the conversions. */
async function rollbackAll(terminal: Terminal, options: MigrateRollbackOptions): Promise<void> {
  const { namespace, output, yes = false, keepGoing = false, timeout } = options;
  const { signal } = terminal;
  await withCluster(options, (client) =>
    withProgress(terminal, "going back to OLM v0", async (progress) => {
      const found = (await listMigrated(client, namespace, signal)).toReversed();
      const batch = await oneByOne(
        found,
        { keepGoing: keepGoing || !yes, signal },
        async (one): Promise<Omit<BatchLine, "namespace" | "name">> => {
          const migrated = await one.read();
          const { name } = migrated.extension.metadata;
          if (!migrated.subscription)
            return { result: "CleanedUp", detail: `ClusterExtension ${name} has no backup any more`, kind: "left" };
          listRollbackSteps(migrated);
          if (!yes) return { result: "Possible", detail: `ClusterExtension ${name} goes back to it`, kind: "ready" };
          const tell = (what: string): void => progress.now(`${one.namespace}/${one.name}: ${what}`);
          await rollBackConversion(migrated, { client, timeoutMs: timeout, signal, tell, done: tell });
          return { result: "RolledBack", detail: "", kind: "done" };
        },
      );
      const isReady = batch.lines.some(({ kind }) => kind === "ready");
      await showBatch(terminal, output, batch, isReady ? "\nNothing was written. To do it: olmv1 migrate rollback --all --yes\n" : "");
    }),
  );
}
